# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 b5f27be6cffcd5579746df996d473cbfe04a4de79b5485e4f1b7a88a85607e4d
