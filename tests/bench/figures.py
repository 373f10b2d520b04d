"""Summaries of samples."""

import statistics


def percentile(samples, share):
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summary(seconds):
    return {
        "median_ms": round(statistics.median(seconds) * 1e3, 3),
        "p99_ms": round(percentile(seconds, 0.99) * 1e3, 3),
    }
