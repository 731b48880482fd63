# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 2d6152f087aceb5dd951793693098ff5a4b1ce0302db34d946e8f1a9a9b75c5e
