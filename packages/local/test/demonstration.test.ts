import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { companyOn } from '../src/demonstration/company.ts';
import { bringUpDemonstration } from '../src/demonstration/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => await database.drop());

const bringUp = (today: string) => bringUpDemonstration({ adminUrl: database.url, readerPassword: 'reader', today });

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: statement, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

test('the company is the same every time, and its history ends today', () => {
  const [one, same, later] = [companyOn('2026-03-01'), companyOn('2026-03-01'), companyOn('2026-03-02')];
  expect(one).toEqual(same);
  expect(one.orders.at(-1)?.['order_date']).toBe('2026-03-01');
  expect(later.orders.map(({ total }) => total)).toEqual(one.orders.map(({ total }) => total));
  expect(later.orders.at(-1)?.['order_date']).toBe('2026-03-02');
});

test('its books agree: lines with totals, payments with invoices', async () => {
  const url = await bringUp('2026-03-01');
  expect(await ask(url, 'select count(*)::int from orders')).toEqual([[1_500]]);
  expect(
    await ask(url, 'select o.id from orders o join order_items i on i.order_id = o.id group by o.id having sum(i.line_total) <> o.total'),
  ).toEqual([]);
  expect(
    await ask(
      url,
      'select i.id from invoices i left join payments p on p.invoice_id = i.id group by i.id having coalesce(sum(p.amount), 0) <> i.amount_paid',
    ),
  ).toEqual([]);
  expect(await ask(url, "select count(*) > 20 from invoices where status = 'overdue'")).toEqual([[true]]);
});

test('the reader may read and nothing else, and a new day makes the data anew', async () => {
  const url = await bringUp('2026-03-01');
  await expect(ask(url, 'delete from payments')).rejects.toThrow(/read-only|permission denied/);
  await expect(ask(url, 'begin read write; delete from payments')).rejects.toThrow('permission denied');
  await expect(ask(url, 'create table mine (id int)')).rejects.toThrow();
  expect(await ask(await bringUp('2026-03-02'), 'select max(order_date)::text from orders')).toEqual([['2026-03-02']]);
});
