# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 ae954d9b49798248632b5e123ad1c9e515b5cf2066e5fe357d05c12d17899258
