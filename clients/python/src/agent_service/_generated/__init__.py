# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 6fc8c456576610b3fd17f1ea95be2fe54b06d5c4efb354128cc67ff36440cde0
