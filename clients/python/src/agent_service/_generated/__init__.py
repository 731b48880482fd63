# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 f3b1aa49cd242d4fdefce0d0ba483ee45b04e3a8509219ce2e001314c34dbf52
