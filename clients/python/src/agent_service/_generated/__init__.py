# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 44c47430672ba6ae95d61a362448e9ca9ff62b2430f8f1c3c563faa662bdb743
