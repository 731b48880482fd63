# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 4433a9374191f1cfc9d32ce4a2f00d45ad9aa62dfdc25aff1cdc90f15419118b
