# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 4b0ea8d50f79354d9a542c44f1c6c04b02f4090b1549db512bc1991e4fb3b167
