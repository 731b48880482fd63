# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 5a6502f47544d13e1c498131e6cc2987f0d1894360766e5d4dd51f64d9ac9967
