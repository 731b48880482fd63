import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signature } from '../src/answer-question.ts';
import { type Demonstration, demonstration, jsonOf, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await demonstration();
});
afterAll(() => company?.stop());

const thisYear = (day: string) => `extract(year from ${day}) = extract(year from current_date)`;
const lastYear = (day: string) => `extract(year from ${day}) = extract(year from current_date) - 1`;
const monthOf = (day: string, back: number) =>
  `to_char(${day}, 'YYYY-MM') = to_char(date_trunc('month', current_date) - interval '${back} month', 'YYYY-MM')`;
const weekOf = (day: string, ahead: number) => `to_char(${day}, 'IYYY-IW') = to_char(current_date + ${7 * ahead}, 'IYYY-IW')`;
const good = "orders.status <> 'cancelled'";
const lines = 'from order_items i join orders on orders.id = i.order_id join products p on p.id = i.product_id';

/** Questions, and statements with the expected answers. */
const questions: readonly (readonly [question: string, sql: string])[] = [
  // sales
  ['How many orders did we get last month?', `select count(*) from orders where ${monthOf('order_date', 1)}`],
  ['What was our revenue this year?', `select sum(total) from orders where ${good} and ${thisYear('order_date')}`],
  [
    'What is our revenue by month this year?',
    `select to_char(order_date, 'YYYY-MM'), sum(total) from orders where ${good} and ${thisYear('order_date')} group by 1 order by 1`,
  ],
  [
    'Who are our top 5 customers by revenue?',
    `select c.name, sum(total) from orders join customers c on c.id = customer_id where ${good} group by c.id order by 2 desc limit 5`,
  ],
  [
    'Which country has the highest revenue this year?',
    `select country, sum(total) from orders join customers c on c.id = customer_id where ${good} and ${thisYear('order_date')} group by 1 order by 2 desc limit 1`,
  ],
  [
    'Which salesperson had the highest revenue last year?',
    `select e.name, sum(total) from orders join employees e on e.id = employee_id where ${good} and ${lastYear('order_date')} group by e.id order by 2 desc limit 1`,
  ],
  [
    'What are our top 10 products by units sold this year?',
    `select p.name, sum(i.quantity) ${lines} where ${good} and ${thisYear('order_date')} group by p.name order by 2 desc, 1 limit 10`,
  ],
  ['Which products are best selling?', `select p.name, sum(i.quantity) ${lines} where ${good} group by p.name order by 2 desc, 1 limit 5`],
  [
    'Revenue by product category last year',
    `select category, sum(line_total) ${lines} where ${good} and ${lastYear('order_date')} group by 1 order by 2 desc`,
  ],
  [
    'Gross profit by product category this year',
    `select category, sum(line_total - i.quantity * unit_cost) ${lines} where ${good} and ${thisYear('order_date')} group by 1 order by 2 desc`,
  ],
  [
    'top 3 product categories by gross profit',
    `select category, sum(line_total - i.quantity * unit_cost) ${lines} where ${good} group by 1 order by 2 desc limit 3`,
  ],
  [
    'What is the average order value by channel?',
    `select channel, round(avg(total), 2) from orders where ${good} group by 1 order by 2 desc`,
  ],
  [
    'Share of revenue by channel',
    `select channel, sum(total), round(100 * sum(total) / (select sum(total) from orders where ${good}), 1) from orders where ${good} group by 1 order by 2 desc`,
  ],
  [
    'Compare revenue this month with last month',
    `select (select coalesce(sum(total), 0) from orders where ${good} and ${monthOf('order_date', 0)}) a,
            (select coalesce(sum(total), 0) from orders where ${good} and ${monthOf('order_date', 1)}) b`,
  ],
  [
    'Compare web and phone revenue this year',
    `select channel, sum(total) from orders where ${good} and channel in ('web', 'phone') and ${thisYear('order_date')} group by 1 order by 2 desc`,
  ],
  [
    'How much did revenue grow this year?',
    `select a, b, a - b, round(100 * (a - b) / nullif(b, 0), 1) from
       (select (select coalesce(sum(total), 0) from orders where ${good} and ${thisYear('order_date')}) a,
               (select coalesce(sum(total), 0) from orders where ${good} and ${lastYear('order_date')}
                  and order_date <= (current_date - interval '1 year')) b) x`,
  ],
  ['How many orders by status?', 'select status, count(*) from orders group by 1 order by 2 desc, 1'],
  ['How many orders are pending?', `select count(*) from orders where status = 'pending'`],
  ['What percentage of orders is cancelled?', `select round(100.0 * sum((status = 'cancelled')::int) / count(*), 1) from orders`],
  ['How many orders were shipped last week?', `select count(*) from orders where ${weekOf('shipped_on', -1)}`],
  ['How many orders are not shipped?', `select count(*) from orders where shipped_on is null and ${good}`],
  [
    'Revenue from enterprise customers last year',
    `select coalesce(sum(total), 0) from orders join customers c on c.id = customer_id where ${good} and segment = 'enterprise' and ${lastYear('order_date')}`,
  ],
  [
    'Revenue from Germany and France this year',
    `select sum(total) from orders join customers c on c.id = customer_id where ${good} and country in ('Germany', 'France') and ${thisYear('order_date')}`,
  ],
  [
    'Revenue not from Germany this year',
    `select sum(total) from orders join customers c on c.id = customer_id where ${good} and country <> 'Germany' and ${thisYear('order_date')}`,
  ],
  [
    'How many orders did Keystone Hotels place?',
    `select count(*) from orders join customers c on c.id = customer_id where c.name = 'Keystone Hotels'`,
  ],
  [
    'Customers with more than 20 orders',
    'select c.name, count(*) from orders join customers c on c.id = customer_id group by c.id having count(*) > 20 order by 2 desc, 1',
  ],
  [
    'How many customers have more than 15 orders?',
    'select count(*) from (select customer_id from orders group by 1 having count(*) > 15) x',
  ],
  [
    'How many customers have no orders this year?',
    `select count(*) from customers where id not in (select customer_id from orders where ${thisYear('order_date')})`,
  ],
  ['How many customers do we have in Germany?', `select count(*) from customers where country = 'Germany'`],
  ['How many new customers did we get this year?', `select count(*) from customers where ${thisYear('created_on')}`],
  ['How many orders over 20000 were there?', 'select count(*) from orders where total > 20000'],
  [
    'Who are our best customers?',
    `select c.name, sum(total) from orders join customers c on c.id = customer_id where ${good} group by c.id order by 2 desc limit 5`,
  ],
  [
    'Which products sold the most last year?',
    `select p.name, sum(i.quantity) ${lines} where ${good} and ${lastYear('order_date')} group by p.name order by 2 desc, 1 limit 5`,
  ],
  [
    'Sales by channel last year',
    `select channel, sum(total) from orders where ${good} and ${lastYear('order_date')} group by 1 order by 2 desc`,
  ],
  ['How many orders between 1000 and 2000?', 'select count(*) from orders where total between 1000 and 2000'],
  ['How many orders with total between 1950 and 2050?', 'select count(*) from orders where total between 1950 and 2050'],
  ['How many orders with total > 20000?', 'select count(*) from orders where total > 20000'],
  ['How many orders where status != cancelled?', `select count(*) from orders where status <> 'cancelled'`],
  ['How many customers ordered in 2025?', 'select count(distinct customer_id) from orders where extract(year from order_date) = 2025'],
  ['How many distinct customers ordered this year?', `select count(distinct customer_id) from orders where ${thisYear('order_date')}`],
  ['How many customers have orders this year?', `select count(distinct customer_id) from orders where ${thisYear('order_date')}`],
  [
    'How many customers ordered by month this year?',
    `select to_char(order_date, 'YYYY-MM'), count(distinct customer_id) from orders where ${thisYear('order_date')} group by 1 order by 1`,
  ],
  [
    'What is the median order total?',
    `select round(avg(total), 2) from (select total, row_number() over (order by total) n, count(*) over () of from orders) o
       where n in ((of + 1) / 2, (of + 2) / 2)`,
  ],
  [
    'How many orders were there after 2026-01-31 and before 2026-03-01?',
    `select count(*) from orders where order_date > '2026-01-31' and order_date < '2026-03-01'`,
  ],
  [
    'Which month had the highest revenue this year?',
    `select to_char(order_date, 'YYYY-MM'), sum(total) from orders where ${good} and ${thisYear('order_date')} group by 1 order by 2 desc limit 1`,
  ],
  [
    'Revenue by year between 2025 and 2026',
    `select to_char(order_date, 'YYYY'), sum(total) from orders where ${good} and extract(year from order_date) in (2025, 2026) group by 1 order by 1`,
  ],
  // finance
  ['How many customers have overdue invoices?', `select count(distinct customer_id) from invoices where status = 'overdue'`],
  [
    'Top 5 customers by overdue amount',
    `select c.name, sum(amount - amount_paid) from invoices i join customers c on c.id = customer_id where i.status = 'overdue' group by c.id order by 2 desc limit 5`,
  ],
  ['How much is overdue?', `select sum(amount - amount_paid) from invoices where status = 'overdue'`],
  [
    'Which customers owe us the most?',
    `select c.name, sum(amount - amount_paid) from invoices i join customers c on c.id = customer_id where i.status in ('open', 'overdue') group by c.id order by 2 desc limit 5`,
  ],
  ['What is the total amount of open invoices?', `select sum(amount) from invoices where status = 'open'`],
  ['How many invoices were issued last month?', `select count(*) from invoices where ${monthOf('issued_on', 1)}`],
  ['How much did we invoice last month?', `select sum(amount) from invoices where status <> 'void' and ${monthOf('issued_on', 1)}`],
  ['How many invoices are due next week?', `select count(*) from invoices where ${weekOf('due_on', 1)}`],
  ['How much cash did we receive in payments last month?', `select sum(amount) from payments where ${monthOf('paid_on', 1)}`],
  [
    'Payments received by method this year',
    `select method, sum(amount) from payments where ${thisYear('paid_on')} group by 1 order by 2 desc`,
  ],
  [
    'How many payments did we get in the last 30 days?',
    'select count(*) from payments where paid_on > current_date - 30 and paid_on <= current_date',
  ],
  // inventory
  [
    'What is our stock value by warehouse?',
    'select warehouse, sum(quantity_on_hand * unit_cost) from inventory join products p on p.id = product_id group by 1 order by 2 desc',
  ],
  [
    'How many units of Aster Desk are in stock?',
    `select sum(quantity_on_hand) from inventory join products p on p.id = product_id where p.name = 'Aster Desk'`,
  ],
  [
    'Which products have the lowest stock?',
    'select p.name, sum(quantity_on_hand) from inventory join products p on p.id = product_id group by p.id order by 2, 1 limit 5',
  ],
  ['How many products are discontinued?', 'select count(*) from products where discontinued'],
  ['How many products are not discontinued?', 'select count(*) from products where not discontinued'],
  ['How many products do we have by category?', 'select category, count(*) from products group by 1 order by 2 desc, 1'],
  ['How many products with unit cost over 100?', 'select count(*) from products where unit_cost > 100'],
  // purchasing
  [
    'How much did we spend with each supplier this year?',
    `select s.name, sum(total) from purchase_orders o join suppliers s on s.id = supplier_id where o.status <> 'cancelled' and ${thisYear('ordered_on')} group by s.id order by 2 desc, 1`,
  ],
  [
    'Which supplier do we spend the most with?',
    `select s.name, sum(total) from purchase_orders o join suppliers s on s.id = supplier_id where o.status <> 'cancelled' group by s.id order by 2 desc limit 1`,
  ],
  ['What is the total value of open purchase orders?', `select coalesce(sum(total), 0) from purchase_orders where status = 'open'`],
  ['How many purchase orders are late?', `select count(*) from purchase_orders where status = 'late'`],
  ['What is the average lead time of suppliers?', 'select round(avg(lead_time_days), 2) from suppliers'],
  // hr
  ['How many employees are in Sales?', `select count(*) from employees where status = 'active' and department = 'Sales'`],
  [
    'Which departments have the most employees?',
    `select department, count(*) from employees where status = 'active' group by 1 order by 2 desc, 1 limit 5`,
  ],
  [
    'What is the headcount by department?',
    `select department, count(*) from employees where status = 'active' group by 1 order by 2 desc, 1`,
  ],
  ['How many employees do we have?', `select count(*) from employees where status = 'active'`],
  [
    'What is the average salary by department?',
    `select department, round(avg(salary), 2) from employees where status = 'active' group by 1 order by 2 desc, 1`,
  ],
  ['How many employees were hired this year?', `select count(*) from employees where ${thisYear('hired_on')}`],
  ['How many employees were hired before 2020?', `select count(*) from employees where hired_on < '2020-01-01'`],
  ['How many employees were hired since 2020?', `select count(*) from employees where hired_on >= '2020-01-01'`],
  ['How many leave requests are pending?', `select count(*) from leave_requests where status = 'pending'`],
  [
    'How many people are on leave today?',
    `select count(*) from leave_requests where status = 'approved' and current_date between start_date and end_date`,
  ],
  [
    'How many vacation days were taken by department this year?',
    `select department, sum(days) from leave_requests r join employees e on e.id = employee_id where r.status = 'approved' and kind = 'vacation' and ${thisYear('start_date')} group by 1 order by 2 desc, 1`,
  ],
];

test.each(questions)('%s', async (question, sql) => {
  const expected = await company.rows(sql);
  const answer = await company.ask(question);
  // Two spans have their difference beside them.
  expect(tableOf(answer).map((row) => row.slice(0, expected[0]?.length))).toEqual(expected);
  expect(answer).toContain('Counted: ');
  expect(answer).not.toContain('I could not place');
  expect(answer.endsWith(signature)).toBe(true);
});

/** Lists: the first column of at most twenty displayed rows. */
const lists: readonly (readonly [question: string, sql: string])[] = [
  ['List overdue invoices', `select invoice_number from invoices where status = 'overdue' order by due_on, 1 limit 20`],
  ['Show the 5 largest orders', 'select id from orders order by total desc limit 5'],
  ['What is the most expensive product?', 'select name from products order by unit_price desc limit 1'],
  ['Show the 3 most expensive products', 'select name from products order by unit_price desc limit 3'],
  ['Which suppliers have the highest rating?', 'select name from suppliers order by rating desc, 1 limit 5'],
  ['Show pending leave requests', `select id from leave_requests where status = 'pending' order by start_date desc, 1 limit 20`],
  ['Which purchase orders are late?', `select id from purchase_orders where status = 'late' order by expected_on, 1 limit 20`],
  [
    'Which products need to be reordered?',
    'select id from inventory where quantity_on_hand <= reorder_level order by last_counted_on desc, 1 limit 20',
  ],
  [
    'Customers without orders this year',
    `select name from customers where id not in (select customer_id from orders where ${thisYear('order_date')}) order by created_on desc, 1 limit 20`,
  ],
];

test.each(lists)('%s', async (question, sql) => {
  const expected = (await company.rows(sql)).map(([first]) => first);
  const answer = await company.ask(question);
  expect(tableOf(answer).map(([first]) => first)).toEqual(expected);
  expect(answer.includes('there are more')).toBe(question === 'List overdue invoices' || answer.includes('first 20'));
});

test('a follow-up continues the previous question, and a complete question does not', async () => {
  const earlier: string[] = [];
  const next = async (message: string) => {
    const answer = await company.ask(message, { earlier });
    earlier.push(message);
    return tableOf(answer);
  };
  const revenue = (where: string, group = '') =>
    `select ${group}sum(total) from orders join customers c on c.id = customer_id where ${good} and ${where}${group && ' group by 1 order by 2 desc, 1'}`;
  expect(await next('What was our revenue this year?')).toEqual(await company.rows(revenue(thisYear('order_date'))));
  expect(await next('and last month?')).toEqual(await company.rows(revenue(monthOf('order_date', 1))));
  expect(await next('by country?')).toEqual(await company.rows(revenue(monthOf('order_date', 1), 'country, ')));
  expect(await next('only for Germany')).toEqual(
    await company.rows(revenue(`${monthOf('order_date', 1)} and country = 'Germany'`, 'country, ')),
  );
  expect(await next('and France?')).toEqual(await company.rows(revenue(`${monthOf('order_date', 1)} and country = 'France'`, 'country, ')));
  expect(await next('How many customers do we have?')).toEqual(await company.rows('select count(*) from customers'));
  expect(await next('List overdue invoices')).toHaveLength(20);
  expect(await next('how many of them?')).toEqual(await company.rows(`select count(*) from invoices where status = 'overdue'`));
});

test('names that are not in the data are reported', async () => {
  expect(await company.ask('What was the revenue from Foobar Inc this year?')).toMatch(/could not place “Foobar”, “Inc”(.*\n)+- /);
  expect(await company.ask('Revenue by flavour this year')).toMatch(/“flavour”(.*\n)+- /);
  expect(await company.ask('Which customers never bought desks?')).not.toContain('Counted');
  expect(await company.ask('What was our splendid revenue this year?')).toMatch(/could not place “splendid”(.*\n)+- /);
  expect(await company.ask('How much do we owe our suppliers?')).toMatch(/could not place “suppliers”(.*\n)+- /);
  expect(await company.ask('Tell me a joke about customers')).toMatch(/could not place .*“joke”(.*\n)+- /);
});

test.each([
  ['How many orders with note 1679091c5a880faf6fb5e6087eb1b2dc?', 'note, 1679091'],
  ['Revenue growth month over month this year', 'month, over, month'],
  ['Who is the manager of the most people?', 'manager'],
  ['How many orders with note 8f14e45fceea167a5a36dedd4bea2543?', '8f14e45fceea167a5a36dedd4bea2543'],
  ['How many customers placed their first order this year?', 'first'],
  ['Orders higher than average', 'than'],
  ['Invoices issued between Monday and Friday', 'Monday'],
  ['Revenue in January, February and March', 'March'],
  ['Orders from Germany or over 10000', 'or'],
  ['How many products do we have this year?', 'year'],
  ['How many orders 2025?', '2025'],
])('%s is not answered with a figure', async (question) => {
  const answer = await company.ask(question);
  expect(answer).not.toContain('Counted: ');
  expect(tableOf(answer)).toEqual([]);
  expect(answer.split('\n').filter((line) => line.startsWith('- '))).toHaveLength(3);
});

test('an average of sums of groups is one average', async () => {
  const expected = await company.rows(
    `select round(avg(sum), 2) from (select sum(total) from orders where ${good} group by customer_id) x`,
  );
  expect(tableOf(await company.ask('Average revenue per customer'))).toEqual(expected);
  expect(await company.ask('Average order value per channel')).toContain('Counted: ');
});

test.each(['hi', 'what can you do?', 'What is the weather like?', 'xyzzy', '???', ''])(
  '%j is answered with three questions that are understood',
  async (message) => {
    const examples = (await company.ask(message)).split('\n').filter((line) => line.startsWith('- '));
    expect(examples).toHaveLength(3);
    for (const example of examples) expect(await company.ask(example.slice(2))).toContain('Counted: ');
  },
);

test('every example question over any of the tables is understood', async () => {
  const { tables: listed } = await company.data.listTables();
  for (const { name } of listed) {
    const examples = (await company.ask(`xyzzy ${name.replaceAll('_', ' ')} quux`)).split('\n').filter((line) => line.startsWith('- '));
    expect(examples).toHaveLength(3);
    for (const example of examples) {
      const answer = await company.ask(example.slice(2));
      expect(answer).toContain('Counted: ');
      expect(answer).not.toContain('could not place');
    }
  }
});

test('the answer has the format of the agent', async () => {
  const question = 'Revenue by channel this year';
  const expected = await company.rows(
    `select channel, sum(total) from orders where ${good} and ${thisYear('order_date')} group by 1 order by 2 desc`,
  );
  const json = await company.ask(question, { output: { format: 'json', charts: false } });
  const members = jsonOf(json);
  expect(members).toEqual({
    rows: expected.map(([channel, revenue]) => ({ channel, revenue: Number(revenue) })),
    truncated: false,
    notes: [expect.stringMatching(/is not over/)],
    counted: expect.stringMatching(/^orders, without cancelled orders, order date this year \(\d{4}-01-01 to \d{4}-12-31\)$/),
    model: 'built-in',
    note: signature,
  });
  const text = await company.ask(question, { output: { format: 'text', charts: false } });
  const grouped = new Intl.NumberFormat('en', { minimumFractionDigits: 2 });
  expect(text).toContain(
    expected.map(([channel, revenue]) => `channel: ${channel}, revenue: ${grouped.format(Number(revenue))}`).join('\n'),
  );
  expect(text).not.toContain('|');
  const chart = await company.ask(question, { output: { format: 'markdown', charts: true } });
  const specification = JSON.parse(/```vega-lite\n([\s\S]*?)\n```/.exec(chart)?.[1] ?? '');
  expect(specification.data.values).toEqual(expected.map(([channel, revenue]) => ({ channel, revenue: Number(revenue) })));
  expect(tableOf(chart)).toEqual(expected);
});

test.each<[question: string, members: object]>([
  ['What was our splendid revenue this year?', { message: expect.stringContaining('splendid'), questions: expect.any(Array) }],
  ['List overdue invoices', { truncated: true }],
  ['How many orders will we get next month?', { message: expect.stringContaining('no forecasts'), questions: expect.any(Array) }],
  ['hi', { message: expect.any(String), questions: expect.any(Array) }],
])('%j is one block of JSON and nothing else', async (question, members) => {
  const answer = await company.ask(question, { output: { format: 'json', charts: false } });
  expect(jsonOf(answer)).toMatchObject({ ...members, model: 'built-in', note: signature });
});

test('the answer reports a failure of the data source', async () => {
  const down = 'The data source does not answer.';
  const withFailing = (name: string) => company.tools.map((tool) => (tool.name === name ? { ...tool, run: async () => down } : tool));
  expect(await company.ask('How many orders?', { tools: withFailing('list_tables') })).toContain(`could not be read: ${down}`);
  expect(await company.ask('How many orders?', { tools: withFailing('query') })).toContain(`could not be read: ${down}`);
  const source = 'a source without an index of its values';
  expect(await company.ask('How many orders?', { tools: withFailing('query'), source })).toContain(`could not be read: ${down}`);
  expect(await company.ask('How many orders?', { source })).toContain('Counted: ');
});
