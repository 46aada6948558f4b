"""Verifies a signed statement with securesystemslib, and reads it with in-toto-attestation. usage: FILE KEY KEYID"""
import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf.json_format import ParseDict
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

with open(sys.argv[1]) as f:
    envelope = Envelope.from_dict(json.load(f))
with open(sys.argv[2], "rb") as f:
    key = SSlibKey.from_crypto(load_pem_public_key(f.read()), keyid=sys.argv[3])
try:
    envelope.verify([key], 1)
except VerificationError:
    print("refused")
    sys.exit()
doc = json.loads(envelope.payload)
statement = Statement.copy_from_pb(ParseDict(doc, statement_pb2.Statement()))
statement.validate()
provenance = ParseDict(doc["predicate"], provenance_pb2.Provenance())  # fails at fields that it does not know
assert provenance.build_definition.build_type and provenance.run_details.builder.id
print("verified")
