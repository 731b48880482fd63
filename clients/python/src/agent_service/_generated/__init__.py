# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 4ab3cbba69d8cf4ac03f8643758d5605f887df3c8927c9e217db3035fb446c91
