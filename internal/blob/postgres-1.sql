CREATE TABLE trueup_ledger (
  ledger text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  content bytea NOT NULL,
  created timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (ledger, name)
);
ALTER TABLE trueup_ledger ENABLE ROW LEVEL SECURITY;
CREATE POLICY trueup_read ON trueup_ledger FOR SELECT USING (true);
CREATE POLICY trueup_create ON trueup_ledger FOR INSERT WITH CHECK (true);
CREATE POLICY trueup_remove ON trueup_ledger FOR DELETE USING (name LIKE 'tmp/%' OR created < now() - interval '27 hours');
