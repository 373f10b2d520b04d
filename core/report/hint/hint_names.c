/* Names that mean a module in another way: what became of modules of Python 2
 * and of the standard library, and what people call modules. In the order of
 * strcmp. */
#include "core/report/hint/hint_modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct note {
  const char *name, *text;
};

static const struct note renamed[] = {
    {"BaseHTTPServer", "In Python 3 it is called http.server."},
    {"ConfigParser", "In Python 3 it is called configparser."},
    {"HTMLParser", "In Python 3 it is called html.parser."},
    {"Queue", "In Python 3 it is called queue."},
    {"SimpleHTTPServer", "In Python 3 it is called http.server."},
    {"SocketServer", "In Python 3 it is called socketserver."},
    {"StringIO", "In Python 3 StringIO and BytesIO stand in io."},
    {"Tkinter", "In Python 3 it is called tkinter."},
    {"__builtin__", "In Python 3 it is called builtins."},
    {"_tkinter", "It is part of Python but needs the system's Tk and a "
                 "display; draw with matplotlib instead."},
    {"aifc", "It left the standard library in Python 3.13; the distribution "
             "standard-aifc brings it back."},
    {"asynchat", "It left the standard library in Python 3.12; use asyncio, or "
                 "the distribution standard-asynchat."},
    {"asyncore", "It left the standard library in Python 3.12; use asyncio, or "
                 "the distribution standard-asyncore."},
    {"audioop", "It left the standard library in Python 3.13; the distribution "
                "audioop-lts brings it back."},
    {"cPickle", "In Python 3 it is called pickle."},
    {"cStringIO", "In Python 3 StringIO and BytesIO stand in io."},
    {"cgi", "It left the standard library in Python 3.13; the distribution "
            "legacy-cgi brings it back."},
    {"cgitb", "It left the standard library in Python 3.13; the distribution "
              "legacy-cgi brings it back."},
    {"chunk", "It left the standard library in Python 3.13; the distribution "
              "standard-chunk brings it back."},
    {"commands", "In Python 3 use subprocess."},
    {"cookielib", "In Python 3 it is called http.cookiejar."},
    {"crypt", "It left the standard library in Python 3.13; use hashlib, or "
              "the distribution legacycrypt."},
    {"distutils", "It left the standard library in Python 3.12; the "
                  "distribution setuptools brings it back."},
    {"httplib", "In Python 3 it is called http.client."},
    {"imghdr", "It left the standard library in Python 3.13; the distribution "
               "standard-imghdr brings it back."},
    {"imp", "It left the standard library in Python 3.12; use importlib."},
    {"lib2to3", "It left the standard library in Python 3.13."},
    {"md5", "In Python 3 use hashlib."},
    {"nntplib", "It left the standard library in Python 3.13; the distribution "
                "standard-nntplib brings it back."},
    {"pipes", "It left the standard library in Python 3.13; use subprocess, or "
              "shlex.quote."},
    {"pytorch",
     "The module of PyTorch is called torch, and so is its distribution."},
    {"sets", "In Python 3 the built-in set does this."},
    {"sha", "In Python 3 use hashlib."},
    {"smtpd", "It left the standard library in Python 3.12; the distribution "
              "aiosmtpd takes its place."},
    {"sndhdr", "It left the standard library in Python 3.13; the distribution "
               "standard-sndhdr brings it back."},
    {"sunau", "It left the standard library in Python 3.13; the distribution "
              "standard-sunau brings it back."},
    {"telnetlib", "It left the standard library in Python 3.13; the "
                  "distribution standard-telnetlib brings it back."},
    {"thread", "In Python 3 use threading."},
    {"tkinter", "It is part of Python but needs the system's Tk and a display; "
                "draw with matplotlib instead."},
    {"turtle", "It is part of Python but needs the system's Tk and a display; "
               "draw with matplotlib instead."},
    {"urllib2", "In Python 3 it is called urllib.request."},
    {"urlparse", "In Python 3 it is called urllib.parse."},
    {"uu", "It left the standard library in Python 3.13; use base64, or the "
           "distribution standard-uu."},
    {"xdrlib", "It left the standard library in Python 3.13; the distribution "
               "standard-xdrlib brings it back."},
};

/* Names that people use for modules without saying so. */
static const struct note usual[] = {
    {"Any", "from typing import Any"},
    {"BeautifulSoup", "from bs4 import BeautifulSoup"},
    {"BytesIO", "from io import BytesIO"},
    {"Callable", "from typing import Callable"},
    {"Counter", "from collections import Counter"},
    {"Decimal", "from decimal import Decimal"},
    {"Dict", "from typing import Dict"},
    {"ET", "import xml.etree.ElementTree as ET"},
    {"Enum", "from enum import Enum"},
    {"F", "import torch.nn.functional as F"},
    {"Fraction", "from fractions import Fraction"},
    {"Image", "from PIL import Image"},
    {"LinearRegression", "from sklearn.linear_model import LinearRegression"},
    {"List", "from typing import List"},
    {"Optional", "from typing import Optional"},
    {"Path", "from pathlib import Path"},
    {"StringIO", "from io import StringIO"},
    {"ThreadPoolExecutor", "from concurrent.futures import ThreadPoolExecutor"},
    {"Tuple", "from typing import Tuple"},
    {"Union", "from typing import Union"},
    {"dataclass", "from dataclasses import dataclass"},
    {"datetime", "from datetime import datetime"},
    {"dd", "import dask.dataframe as dd"},
    {"deepcopy", "from copy import deepcopy"},
    {"defaultdict", "from collections import defaultdict"},
    {"deque", "from collections import deque"},
    {"display", "from IPython.display import display"},
    {"go", "import plotly.graph_objects as go"},
    {"gpd", "import geopandas as gpd"},
    {"jnp", "import jax.numpy as jnp"},
    {"lru_cache", "from functools import lru_cache"},
    {"mpl", "import matplotlib as mpl"},
    {"namedtuple", "from collections import namedtuple"},
    {"nn", "from torch import nn"},
    {"np", "import numpy as np"},
    {"nx", "import networkx as nx"},
    {"pa", "import pyarrow as pa"},
    {"partial", "from functools import partial"},
    {"pd", "import pandas as pd"},
    {"pi", "from math import pi"},
    {"pl", "import polars as pl"},
    {"plt", "import matplotlib.pyplot as plt"},
    {"pprint", "from pprint import pprint"},
    {"px", "import plotly.express as px"},
    {"randint", "from random import randint"},
    {"reduce", "from functools import reduce"},
    {"sleep", "from time import sleep"},
    {"sm", "import statsmodels.api as sm"},
    {"smf", "import statsmodels.formula.api as smf"},
    {"sns", "import seaborn as sns"},
    {"sqrt", "from math import sqrt"},
    {"stats", "from scipy import stats"},
    {"tf", "import tensorflow as tf"},
    {"timedelta", "from datetime import timedelta"},
    {"tqdm", "from tqdm import tqdm"},
    {"train_test_split",
     "from sklearn.model_selection import train_test_split"},
    {"xr", "import xarray as xr"},
};

static int compare_text(const void *key, const void *entry) {
  /* Each entry starts with the pointer to its name. */
  const char *const *name = entry;
  return strcmp(key, *name);
}

const char *hint_renamed_module(const char *module) {
  char first[128];
  snprintf(first, sizeof first, "%.*s", (int)strcspn(module, "."), module);
  const struct note *found = bsearch(first, renamed, COUNT_OF(renamed),
                                     sizeof renamed[0], compare_text);
  return found ? found->text : NULL;
}

const char *hint_usual_import(const char *name) {
  const struct note *found =
      bsearch(name, usual, COUNT_OF(usual), sizeof usual[0], compare_text);
  return found ? found->text : NULL;
}
