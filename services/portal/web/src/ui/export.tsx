import { Download } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { pause } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { type ApiPage, readAll, readMoving } from '../api/pages.ts';
import { Button } from './button.tsx';
import { toCsv } from './csv.ts';
import { notify, notifyFailure } from './feedback.tsx';
import { formatNumber, plural } from './format.tsx';

interface ExportProps<Row> {
  fileName: string;
  disabled?: boolean;
  names: readonly string[];
  cells: (row: Row) => readonly unknown[];
  read: (cursor: string | undefined) => Promise<ApiPage<Row>>;
  /** For a list whose rows change places while it is read. */
  idOf?: ((row: Row) => string) | undefined;
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

/** The parts of the file, with a notice if it does not hold all rows. */
async function readFile<Row>(
  { names, cells, read, idOf }: ExportProps<Row>,
  signal: AbortSignal,
  onCount: (rows: number) => void,
): Promise<{ parts: string[]; notice: string | undefined }> {
  const parts = [toCsv([names])];
  let [rows, total] = [0, 0];
  const readPage = (cursor: string | undefined) => whenAllowed(() => read(cursor), signal);
  for await (const { data, meta } of idOf ? readMoving(readPage, idOf, signal) : readAll(readPage, signal)) {
    parts.push(toCsv(data.map(cells)));
    rows += data.length;
    total = meta.total;
    onCount(rows);
    if (rows >= maxRows) break;
  }
  return { parts, notice: noticeOf(rows, idOf ? total - rows : 0) };
}

function noticeOf(rows: number, missing: number): string | undefined {
  if (rows >= maxRows) return `The file holds the first ${formatNumber(rows)} rows. Narrow the dates for the others.`;
  if (missing > 0)
    return `The file lacks ${plural(missing, 'row')} that moved while the list was read. Export it again, or choose days that have ended.`;
  return undefined;
}

/** Reads every page of a list into a CSV file, and shows how far it is. */
export function ExportButton<Row>(props: ExportProps<Row>) {
  const [count, setCount] = useState<number>();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async () => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setCount(0);
    try {
      const { parts, notice } = await readFile(props, signal, setCount);
      if (notice) notify(notice, 'danger');
      download(props.fileName, 'text/csv', parts);
    } catch (cause) {
      if (!signal.aborted) notifyFailure(cause);
    }
    if (!signal.aborted) setCount(undefined);
  };
  return (
    <Button icon={Download} busy={count !== undefined} disabled={props.disabled} onClick={run}>
      {count ? `${formatNumber(count)} rows` : 'Export as CSV'}
    </Button>
  );
}
