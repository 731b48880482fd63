import { migration } from '@agent-service/store';

// A person whom a provider has signed in, and who has not chosen between organizations yet. The choice removes the row.
const choices = `
  create table organization_choices (
    token_hash text primary key,
    issuer text not null,
    subject text not null,
    email text not null,
    expires_at timestamptz(3) not null
  );
  create index organization_choices_expires_at_index on organization_choices (expires_at);
`;

export const organizationChoices = migration('0009-organization-choices', choices);
