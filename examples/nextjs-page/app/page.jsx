'use client';

import { useState } from 'react';

/** Streams the answer of the agent. The key stays on the server (app/api/ask/route.js). */
export default function Page() {
  const [question, setQuestion] = useState('');
  const [answer, setAnswer] = useState('');
  const [isBusy, setBusy] = useState(false);

  async function ask(event) {
    event.preventDefault();
    setBusy(true);
    setAnswer('');
    try {
      const response = await fetch('/api/ask', { method: 'POST', body: JSON.stringify({ question }) });
      if (!response.ok) return setAnswer(`${response.status}: ${await response.text()}`);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) setAnswer((text) => text + part.value);
    } catch {
      setAnswer('The connection was lost. Ask again.');
    } finally {
      setBusy(false);
    }
  }

  return (
    <main>
      <h1>Ask our agent</h1>
      <form onSubmit={ask}>
        <label>
          Question <input value={question} onChange={(event) => setQuestion(event.target.value)} maxLength={2000} required />
        </label>{' '}
        <button type="submit" disabled={isBusy}>
          Ask
        </button>
      </form>
      <p aria-live="polite" style={{ whiteSpace: 'pre-wrap' }}>
        {answer}
      </p>
    </main>
  );
}
