import { formatNumber } from '../format.tsx';

const maxListedRows = 100;

/** The figures as a table, for readers who cannot use the picture. */
export function ChartData({ rows }: { rows: Record<string, unknown>[] }) {
  const names = Object.keys(rows[0] ?? {});
  return (
    <details className="chart-data">
      <summary>Show the data</summary>
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Data of the chart">
        <table>
          <thead>
            <tr>
              {names.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, maxListedRows).map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity and never change.
              <tr key={index}>
                {names.map((name) => (
                  <td key={name} className={typeof row[name] === 'number' ? 'number end' : undefined}>
                    {typeof row[name] === 'number' ? formatNumber(row[name]) : String(row[name] ?? '–')}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
