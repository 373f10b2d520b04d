#include "core/report/hint_modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

/* Modules whose distribution has another name, in the order of strcmp. */
static const struct hint_module modules[] = {
    {"AppKit", "pyobjc"},
    {"Bio", "biopython"},
    {"Bio.PDB", "biopython"},
    {"Crypto", "pycryptodome"},
    {"Cryptodome", "pycryptodomex"},
    {"Foundation", "pyobjc"},
    {"MeCab", "mecab-python3"},
    {"MySQLdb", "mysqlclient"},
    {"OpenGL", "pyopengl"},
    {"OpenSSL", "pyopenssl"},
    {"PIL", "pillow"},
    {"Quartz", "pyobjc"},
    {"RPi", "rpi.gpio"},
    {"Xlib", "python-xlib"},
    {"absl", "absl-py"},
    {"acme", "dm-acme"},
    {"allauth", "django-allauth"},
    {"apiclient", "google-api-python-client"},
    {"attr", "attrs"},
    {"autosklearn", "auto-sklearn"},
    {"azure.core", "azure-core"},
    {"azure.cosmos", "azure-cosmos"},
    {"azure.identity", "azure-identity"},
    {"azure.keyvault.secrets", "azure-keyvault-secrets"},
    {"azure.storage.blob", "azure-storage-blob"},
    {"barcode", "python-barcode"},
    {"bidi", "python-bidi"},
    {"binance", "python-binance"},
    {"bluetooth", "pybluez"},
    {"box", "python-box"},
    {"bs4", "beautifulsoup4"},
    {"bson", "pymongo"},
    {"cairo", "pycairo"},
    {"camelot", "camelot-py"},
    {"can", "python-can"},
    {"capnp", "pycapnp"},
    {"cassandra", "cassandra-driver"},
    {"clip", "openai-clip"},
    {"community", "python-louvain"},
    {"constraint", "python-constraint"},
    {"consul", "python-consul"},
    {"corsheaders", "django-cors-headers"},
    {"crispy_forms", "django-crispy-forms"},
    {"crontab", "python-crontab"},
    {"cupy", "cupy-cuda12x"},
    {"cv2", "opencv-python-headless"},
    {"daemon", "python-daemon"},
    {"dash_core_components", "dash"},
    {"dash_html_components", "dash"},
    {"dash_table", "dash"},
    {"dateutil", "python-dateutil"},
    {"dbus", "dbus-python"},
    {"debug_toolbar", "django-debug-toolbar"},
    {"decouple", "python-decouple"},
    {"dicom", "pydicom"},
    {"digitalocean", "python-digitalocean"},
    {"discord", "discord.py"},
    {"django_filters", "django-filter"},
    {"dns", "dnspython"},
    {"docx", "python-docx"},
    {"dotenv", "python-dotenv"},
    {"editor", "python-editor"},
    {"ee", "earthengine-api"},
    {"elftools", "pyelftools"},
    {"enchant", "pyenchant"},
    {"engineio", "python-engineio"},
    {"environ", "django-environ"},
    {"facebook", "facebook-sdk"},
    {"factory", "factory-boy"},
    {"faiss", "faiss-cpu"},
    {"fbprophet", "prophet"},
    {"ffmpeg", "ffmpeg-python"},
    {"fitz", "pymupdf"},
    {"flint", "python-flint"},
    {"fpdf", "fpdf2"},
    {"fuse", "fusepy"},
    {"geohash", "python-geohash"},
    {"gflags", "python-gflags"},
    {"gi", "pygobject"},
    {"git", "gitpython"},
    {"github", "pygithub"},
    {"gitlab", "python-gitlab"},
    {"google.api_core", "google-api-core"},
    {"google.auth", "google-auth"},
    {"google.cloud.aiplatform", "google-cloud-aiplatform"},
    {"google.cloud.bigquery", "google-cloud-bigquery"},
    {"google.cloud.datastore", "google-cloud-datastore"},
    {"google.cloud.firestore", "google-cloud-firestore"},
    {"google.cloud.logging", "google-cloud-logging"},
    {"google.cloud.pubsub", "google-cloud-pubsub"},
    {"google.cloud.pubsub_v1", "google-cloud-pubsub"},
    {"google.cloud.speech", "google-cloud-speech"},
    {"google.cloud.storage", "google-cloud-storage"},
    {"google.cloud.translate", "google-cloud-translate"},
    {"google.cloud.vision", "google-cloud-vision"},
    {"google.genai", "google-genai"},
    {"google.generativeai", "google-generativeai"},
    {"google.oauth2", "google-auth"},
    {"google.protobuf", "protobuf"},
    {"googleapiclient", "google-api-python-client"},
    {"googlesearch", "googlesearch-python"},
    {"gridfs", "pymongo"},
    {"grpc", "grpcio"},
    {"grpc_tools", "grpcio-tools"},
    {"haiku", "dm-haiku"},
    {"haystack", "django-haystack"},
    {"hydra", "hydra-core"},
    {"imblearn", "imbalanced-learn"},
    {"impala", "impyla"},
    {"import_export", "django-import-export"},
    {"jenkins", "python-jenkins"},
    {"jnius", "pyjnius"},
    {"jnpr", "junos-eznc"},
    {"jose", "python-jose"},
    {"jsonrpc", "json-rpc"},
    {"jsonrpclib", "jsonrpclib-pelix"},
    {"jwt", "pyjwt"},
    {"kafka", "kafka-python"},
    {"ldap", "python-ldap"},
    {"libfuturize", "future"},
    {"magic", "python-magic"},
    {"memcache", "python-memcached"},
    {"mpl_finance", "mplfinance"},
    {"mpl_toolkits", "matplotlib"},
    {"mpl_toolkits.basemap", "basemap"},
    {"mptt", "django-mptt"},
    {"mpv", "python-mpv"},
    {"multipart", "python-multipart"},
    {"mysql", "mysql-connector-python"},
    {"mysql.connector", "mysql-connector-python"},
    {"nacl", "pynacl"},
    {"nats", "nats-py"},
    {"newspaper", "newspaper3k"},
    {"nmap", "python-nmap"},
    {"novaclient", "python-novaclient"},
    {"objc", "pyobjc-core"},
    {"odf", "odfpy"},
    {"ogr", "gdal"},
    {"onelogin", "python3-saml"},
    {"openbabel", "openbabel-wheel"},
    {"opensearchpy", "opensearch-py"},
    {"osgeo", "gdal"},
    {"osr", "gdal"},
    {"ot", "pot"},
    {"paddle", "paddlepaddle"},
    {"paho", "paho-mqtt"},
    {"pam", "python-pam"},
    {"pandas_profiling", "ydata-profiling"},
    {"past", "future"},
    {"pdfminer", "pdfminer.six"},
    {"pkg_resources", "setuptools"},
    {"plotly_express", "plotly"},
    {"pptx", "python-pptx"},
    {"psycopg2", "psycopg2-binary"},
    {"pwn", "pwntools"},
    {"pylab", "matplotlib"},
    {"pynvml", "nvidia-ml-py"},
    {"pyro", "pyro-ppl"},
    {"pysat", "python-sat"},
    {"pythoncom", "pywin32"},
    {"pywintypes", "pywin32"},
    {"pywt", "pywavelets"},
    {"pyximport", "cython"},
    {"quaternion", "numpy-quaternion"},
    {"readability", "readability-lxml"},
    {"rediscluster", "redis-py-cluster"},
    {"rest_framework", "djangorestframework"},
    {"retro", "gym-retro"},
    {"ruamel", "ruamel.yaml"},
    {"ruamel.yaml", "ruamel.yaml"},
    {"saml2", "pysaml2"},
    {"scikitplot", "scikit-plot"},
    {"serial", "pyserial"},
    {"shapefile", "pyshp"},
    {"simtk", "openmm"},
    {"skbio", "scikit-bio"},
    {"skfuzzy", "scikit-fuzzy"},
    {"skimage", "scikit-image"},
    {"sklearn", "scikit-learn"},
    {"skmultiflow", "scikit-multiflow"},
    {"skmultilearn", "scikit-multilearn"},
    {"skopt", "scikit-optimize"},
    {"sksurv", "scikit-survival"},
    {"slack", "slackclient"},
    {"slugify", "python-slugify"},
    {"smb", "pysmb"},
    {"smbus", "smbus2"},
    {"snappy", "python-snappy"},
    {"snowflake", "snowflake-connector-python"},
    {"social_core", "social-auth-core"},
    {"socketio", "python-socketio"},
    {"socks", "pysocks"},
    {"solr", "solrpy"},
    {"sonnet", "dm-sonnet"},
    {"speech_recognition", "speechrecognition"},
    {"speedtest", "speedtest-cli"},
    {"stl", "numpy-stl"},
    {"stomp", "stomp.py"},
    {"storages", "django-storages"},
    {"strawberry", "strawberry-graphql"},
    {"suds", "suds-community"},
    {"surprise", "scikit-surprise"},
    {"swiftclient", "python-swiftclient"},
    {"systemd", "systemd-python"},
    {"tabula", "tabula-py"},
    {"talib", "ta-lib"},
    {"taos", "taospy"},
    {"tdengine", "taospy"},
    {"telebot", "pytelegrambotapi"},
    {"telegram", "python-telegram-bot"},
    {"tlz", "toolz"},
    {"tortoise", "tortoise-orm"},
    {"tree", "dm-tree"},
    {"trello", "py-trello"},
    {"umap", "umap-learn"},
    {"usb", "pyusb"},
    {"vcr", "vcrpy"},
    {"visa", "pyvisa"},
    {"vlc", "python-vlc"},
    {"vtkmodules", "vtk"},
    {"weaviate", "weaviate-client"},
    {"websocket", "websocket-client"},
    {"whisper", "openai-whisper"},
    {"whois", "python-whois"},
    {"win32api", "pywin32"},
    {"win32com", "pywin32"},
    {"win32con", "pywin32"},
    {"winrm", "pywinrm"},
    {"wrf", "wrf-python"},
    {"wx", "wxpython"},
    {"yaml", "pyyaml"},
    {"z3", "z3-solver"},
    {"zipline", "zipline-reloaded"},
    {"zmq", "pyzmq"},
};

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

static const struct hint_module *find_module(const char *module) {
  return bsearch(module, modules, COUNT_OF(modules), sizeof modules[0],
                 compare_text);
}

enum hint_known hint_distribution(const char *module, char *name, size_t size) {
  char part[128];
  snprintf(part, sizeof part, "%s", module);
  const struct hint_module *found;
  while ((found = find_module(part)) == NULL) {
    char *dot = strrchr(part, '.');
    if (dot == NULL)
      break;
    *dot = '\0';
  }
  snprintf(name, size, "%s", found ? found->distribution : part);
  if (found == NULL)
    return HINT_UNKNOWN;
  return strcmp(found->module, module) == 0 ? HINT_KNOWN : HINT_KNOWN_PART;
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

const struct hint_module *hint_modules(size_t *count) {
  *count = COUNT_OF(modules);
  return modules;
}
