# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 962fc44b6e218a165f1f950f1ebda1815ecc24b0d03d3a27c64ef420556ef837
