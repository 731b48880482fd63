import type { Agent } from '@agent-service/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { portal } from '../../api/client.ts';
import { useIsAdmin } from '../../api/session.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { Failure, Notice } from '../../ui/feedback.tsx';

const languages = [
  { id: 'curl', label: 'curl' },
  { id: 'typescript', label: 'TypeScript' },
  { id: 'python', label: 'Python' },
] as const;

/** Requests to this agent that can be copied and run. */
export function UseTheApi({ agent }: { agent: Agent }) {
  const environment = useEnvironment();
  const isAdmin = useIsAdmin();
  const { language = 'curl' } = useSearch({ strict: false });
  const {
    data: address,
    error,
    refetch,
  } = useQuery({
    queryKey: ['api-address'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await portal<{ data: { api_address: string } }>('GET', '/status')).data.api_address,
  });
  if (error) return <Failure cause={error} onRetry={() => void refetch()} />;
  return (
    <div className="stack">
      {agent.status !== 'active' && <Notice tone="warning">The agent is not active, so it refuses messages.</Notice>}
      <p>
        Send a message and wait for the answer. Set <code>AGENT_SERVICE_KEY</code> to {environment === 'live' ? 'a live' : 'a test'} key
        with the scope <code>agents:chat</code>
        {isAdmin && (
          <>
            ;{' '}
            <Link to="/$environment/keys" params={{ environment }} className="link">
              create one under API keys
            </Link>
          </>
        )}
        .
      </p>
      <div>
        <nav className="segmented" aria-label="Language">
          {languages.map(({ id, label }) => (
            <Link
              key={id}
              to="."
              search={(now) => ({ ...now, language: id })}
              replace
              aria-current={language === id ? 'true' : 'false'}
              activeProps={{}}
            >
              {label}
            </Link>
          ))}
        </nav>
      </div>
      <CodeBlock
        code={address === undefined ? '' : codeIn(language, { address, agent })}
        label={`Send a message with ${languages.find(({ id }) => id === language)?.label ?? language}`}
      />
      <p className="muted small">
        Repeat a request with the same Idempotency-Key after a lost connection: it is answered and charged once.
      </p>
    </div>
  );
}

interface Target {
  address: string;
  agent: Agent;
}

function codeIn(language: string, { address, agent }: Target): string {
  const message = agent.suggested_prompts[0] ?? 'How much did we sell last month?';
  const url = `${address}/v1/agents/${agent.id}/messages`;
  if (language === 'typescript') return typescript(url, message);
  if (language === 'python') return python(url, message);
  return curl(url, message);
}

const curl = (url: string, message: string) => `curl ${url} \\
  -H "Authorization: Bearer $AGENT_SERVICE_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: $(uuidgen)" \\
  -d ${inShell(JSON.stringify({ message }))}`;

const inShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const typescript = (url: string, message: string) => `const response = await fetch('${url}', {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.AGENT_SERVICE_KEY}\`,
    'Content-Type': 'application/json',
    'Idempotency-Key': crypto.randomUUID(),
  },
  body: JSON.stringify({ message: ${JSON.stringify(message)} }),
});
const { data, error } = await response.json();
if (error) throw new Error(error.message);
console.log(data.content);`;

const python = (url: string, message: string) => `import os
import uuid

import requests

response = requests.post(
    "${url}",
    headers={
        "Authorization": f"Bearer {os.environ['AGENT_SERVICE_KEY']}",
        "Idempotency-Key": str(uuid.uuid4()),
    },
    json={"message": ${JSON.stringify(message)}},
    timeout=70,
)
response.raise_for_status()
print(response.json()["data"]["content"])`;
