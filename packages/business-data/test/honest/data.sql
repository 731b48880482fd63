insert into suppliers
  select n, 'Supplier ' || chr(64 + n), (array['DE', 'FR', 'US', 'CN'])[1 + n % 4], n % 5 + 1, make_interval(days => 3 + n % 20)
  from generate_series(1, 12) n;
insert into customers
  select n, (array['Adler', 'Brandt', 'Cohen', 'Dupont', 'Eriksen', 'Fontana', 'García', 'O''Hara'])[1 + n % 8] || ' ' || n,
    'c' || n || '@example.com', (array['North', 'South', 'East', 'West', null])[1 + n % 5],
    (array['consumer', 'business', 'public', 'churned'])[1 + n % 4], n % 7 = 0, (n * 37 % 100) * 100, date '2023-01-01' + n * 3,
    jsonb_build_object('age', 20 + n % 50, 'newsletter', n % 2 = 0, 'interests', jsonb_build_array('i' || n % 5, 'i' || n % 3),
      'contact', jsonb_build_object('phone', '+49 ' || n * 1117, 'city', (array['Berlin', 'Paris', 'Rome'])[1 + n % 3])),
    json_build_object('street', 'Street ' || n, 'zip', lpad((n * 731 % 99999)::text, 5, '0'))
  from generate_series(1, 120) n;
insert into products
  select n, 'SKU-' || lpad(n::text, 4, '0'), (array['Chair', 'Desk', 'Lamp', 'Shelf', 'Sofa'])[1 + n % 5] || ' ' || n,
    (array['Furniture', 'Lighting', 'Storage', 'Outdoor'])[1 + n % 4], 10 + (n * 53 % 490) + 0.99, 5 + (n * 31 % 240) + 0.5,
    array['tag' || n % 4, 'tag' || n % 6], jsonb_build_object('color', (array['red', 'green', 'blue'])[1 + n % 3], 'size', n % 10,
      'dims', jsonb_build_array(n, n * 2, n * 3)), 1 + n % 12, n % 11 = 0, n * 1.5
  from generate_series(1, 60) n;
insert into orders
  select n, 1 + n * 17 % 118, (enum_range(null::order_status))[1 + n * 7 % 5], timestamptz '2024-01-01 08:00:00+00' + n * interval '17 hours 13 minutes',
    case when n % 5 <> 0 then timestamptz '2024-01-01 08:00:00+00' + n * interval '17 hours 13 minutes' + (n % 9) * interval '1 day' end,
    (array['web', 'shop', 'phone'])[1 + n % 3], 0, case when n % 6 = 0 then 'note ' || n || ' urgent' end,
    jsonb_build_object('coupon', case when n % 4 = 0 then 'SAVE' || n % 3 end, 'utm', jsonb_build_object('source', 's' || n % 4))
  from generate_series(1, 700) n;
insert into order_items (order_id, line, product_id, quantity, unit_price, discount)
  select o, l, 1 + (o * 7 + l * 13) % 60, 1 + (o + l) % 5, 10 + (o * l) % 200, (o % 4) * 0.05
  from generate_series(1, 700) o, generate_series(1, 3) l where l <= 1 + o % 3;
update orders set total = (select sum(line_total) from order_items where order_id = orders.id);
insert into invoices
  select id, id, placed_at::date, placed_at::date + 30, total, id % 3 <> 0, 'INV-' || to_char(placed_at, 'YYYY') || '-' || id from orders where status <> 'draft';
insert into payments
  select i.id * 10 + p, i.id, least(i.issued_on + p * 9, date '2025-12-31'), round(i.amount / 2, 2), (array['card', 'transfer', 'cash'])[1 + (i.id + p) % 3]
  from invoices i, generate_series(1, 2) p where i.paid;
insert into inventory
  select p, w, (p * 7 + length(w)) % 90, p % 9, timestamp '2025-05-01' + p * interval '1 hour', daterange('2025-01-01', date '2025-02-01' + p)
  from generate_series(1, 60) p, unnest(array['Berlin', 'Lyon']) w;
insert into purchase_orders
  select n, 1 + n % 12, date '2024-02-01' + n * 4, date '2024-02-15' + n * 4, case when n % 4 <> 0 then date '2024-02-12' + n * 4 + n % 8 end,
    (n * 97 % 5000) + 0.25, jsonb_build_array(jsonb_build_object('product', n % 60 + 1, 'qty', n % 30 + 1), jsonb_build_object('product', n * 7 % 60 + 1, 'qty', 5))
  from generate_series(1, 90) n;
insert into employees
  select n, case when n > 1 then n / 3 + case when n < 3 then 1 else 0 end end, 'Employee ' || n, (array['Clerk', 'Lead', 'Analyst'])[1 + n % 3],
    (array['Sales', 'Support', 'Warehouse', 'Finance'])[1 + n % 4], 30000 + n * 911 % 45000, date '2018-01-01' + n * 41, array['sql', 'skill' || n % 5],
    time '06:00' + (n % 3) * interval '8 hours'
  from generate_series(1, 40) n;
insert into leave_requests
  select n, 1 + n % 40, (array['vacation', 'sick', 'parental'])[1 + n % 3], date '2025-01-06' + n * 3, date '2025-01-06' + n * 3 + n % 12, n % 5 <> 0, 'because ' || n
  from generate_series(1, 110) n;
insert into "Sales Ops"."Quarterly Targets"
  select r, q::date, 10000 + length(r) * 1000 + extract(month from q) * 10
  from unnest(array['North', 'South', 'East', 'West']) r, generate_series(date '2024-01-01', date '2025-04-01', interval '3 months') q;
refresh materialized view monthly_sales;
analyze;
