import { Download } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { pause } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { readAll } from '../api/lists.ts';
import { Button } from './button.tsx';
import { toCsv } from './csv.ts';
import { notify, notifyFailure } from './feedback.tsx';
import { formatNumber } from './format.tsx';

interface ExportProps<Row> {
  fileName: string;
  disabled?: boolean;
  names: readonly string[];
  cells: (row: Row) => readonly unknown[];
  read: (cursor: string | undefined) => Promise<{ data: Row[]; meta: { next_cursor: string | null; total: number } }>;
}

/** A larger file would not fit into the browser's memory beside the page. */
const maxRows = 200_000;

/** A long list takes more requests than a user may send in a minute: then the next one waits as long as the service says. */
async function whenAllowed<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const seconds = cause instanceof ApiError && cause.status === 429 ? cause.retryAfterSeconds : undefined;
    if (!seconds) throw cause;
    await pause(seconds * 1_000, signal);
    return await whenAllowed(read, signal);
  }
}

/** Saves a text as a file of the user's. */
function download(name: string, type: string, parts: string[]) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Reads every page of a list into a CSV file, and shows how far it is. */
export function ExportButton<Row>({ fileName, disabled, names, cells, read }: ExportProps<Row>) {
  const [count, setCount] = useState<number>();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async () => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    const parts = [toCsv([names])];
    let rows = 0;
    setCount(0);
    try {
      for await (const { data } of readAll((cursor) => whenAllowed(() => read(cursor), signal), signal)) {
        parts.push(toCsv(data.map(cells)));
        rows += data.length;
        setCount(rows);
        if (rows >= maxRows) {
          notify(`The file holds the first ${formatNumber(rows)} rows. Narrow the dates for the others.`, 'danger');
          break;
        }
      }
      download(fileName, 'text/csv', parts);
    } catch (cause) {
      if (!signal.aborted) notifyFailure(cause);
    }
    if (!signal.aborted) setCount(undefined);
  };
  return (
    <Button icon={Download} busy={count !== undefined} disabled={disabled} onClick={run}>
      {count ? `${formatNumber(count)} rows` : 'Export as CSV'}
    </Button>
  );
}
