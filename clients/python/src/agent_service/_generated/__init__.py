# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 2e6d761a46ab0b4c5e6febdf1f1ac33a8fb0e4477f39893f8b9afe6b7adf80d7
