# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 aec533f8cda12621b0e46f402aa186fb13df3a41cb5105fce68ee4b1408f076b
