{
  "targets": [{
    "target_name": "weir",
    "sources": ["src/addon.c", "weir/weir.c"],
    "defines": ["NAPI_VERSION=8", "_GNU_SOURCE"],
    "cflags": ["-std=c11", "-O2", "-fvisibility=hidden", "-pthread"],
    "ldflags": ["-pthread"]
  }]
}
