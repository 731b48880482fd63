# Generated from the OpenAPI document by generate.py. Any change is lost.
# Source: sha256 f6408033dc88af0818bf015412f722a034b4691a7047e080cabaf74474a20e70
