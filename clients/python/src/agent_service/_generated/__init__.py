# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 b62a4753361279d300f51965fc72507a2a820ce862fdd0c2b510ec7a329a726f
