-- A public library, made of arithmetic alone: the same rows every time, with days relative to the current one.
create table branches (id integer primary key, name text not null, city text not null, opened_on date not null, seats integer not null);
create table members (
  id integer primary key, full_name text not null, category text not null, city text not null, date_of_birth date not null, joined_on date not null,
  blocked boolean not null);
create table authors (id integer primary key, full_name text not null, country text not null);
create table books (
  id integer primary key, title text not null, author_id integer not null references authors (id), genre text not null, language text not null,
  published_year integer not null, pages integer not null);
create table copies (
  id integer primary key, book_id integer not null references books (id), branch_id integer not null references branches (id), acquired_on date not null,
  condition text not null, purchase_price_eur numeric(8,2) not null);
create table loans (
  id integer primary key, copy_id integer not null references copies (id), member_id integer not null references members (id), loaned_on date not null,
  due_on date not null, returned_on date, renewals integer not null);
create table reservations (
  id integer primary key, book_id integer not null references books (id), member_id integer not null references members (id), reserved_on date not null,
  status text not null);
create table fines (
  id integer primary key, loan_id integer not null references loans (id), member_id integer not null references members (id), issued_on date not null,
  amount_eur numeric(8,2) not null, paid_on date, reason text not null);
create table events (
  id integer primary key, title text not null, branch_id integer not null references branches (id), kind text not null, held_on date not null,
  visitors integer not null, cost_eur numeric(8,2) not null);
create table librarians (
  id integer primary key, full_name text not null, branch_id integer not null references branches (id), role text not null, hired_on date not null,
  monthly_salary_eur numeric(8,2) not null, weekly_hours integer not null);
comment on table loans is 'Loans of copies to members; returned_on is empty while the book is out';
comment on table fines is 'Fines of members; paid_on is empty while the fine is unpaid';

insert into branches select i, (array['Central', 'Riverside', 'Hillside', 'Harbour', 'Old Town'])[i], (array['Bergen', 'Bergen', 'Tromso', 'Alta', 'Alta'])[i], date '1990-01-01' + i * 1237, 20 + i * i * 7 % 50 from generate_series(1, 5) i;
insert into members
  select i, (array['Anja', 'Bo', 'Cecilie', 'Dag', 'Eirin', 'Finn', 'Guro', 'Hakon', 'Ida', 'Jon'])[1 + i % 10] || ' ' || (array['Aas', 'Berg', 'Dahl', 'Eide', 'Foss', 'Haug', 'Lie', 'Moen', 'Nes', 'Ruud', 'Sand'])[1 + i % 11],
         (array['adult', 'student', 'senior', 'adult', 'child'])[1 + (i * 7 + i / 9) % 5], (array['Bergen', 'Tromso', 'Alta', 'Voss'])[1 + (i * 3 / 5) % 4],
         current_date - 2600 - (i * 6151) % 27000, current_date - (i * 431) % 2500, i % 17 = 0
  from generate_series(1, 240) i;
insert into authors select i, (array['Agnes', 'Bernt', 'Clara', 'Didrik', 'Elin', 'Frode'])[1 + i % 6] || ' ' || (array['Kvam', 'Lunde', 'Myhre', 'Nygard', 'Opdal', 'Prestegard', 'Rognli'])[1 + i % 7],
         (array['Norway', 'Iceland', 'Finland', 'Denmark'])[1 + (i * 3 + i / 5) % 4] from generate_series(1, 40) i;
insert into books select i, (array['The Quiet', 'A Distant', 'The Last', 'Our Northern', 'The Glass', 'Seven'])[1 + i % 6] || ' ' || (array['Fjord', 'Winter', 'Lighthouse', 'Garden', 'Letters', 'Road', 'Harvest', 'Mirror', 'Island'])[1 + i % 9] || ' ' || i,
         1 + (i * 13 + i / 3) % 40, (array['Fantasy', 'Crime', 'Poetry', 'History', 'Travel', 'Cooking'])[1 + (i * 5 + i / 7) % 6], (array['Norwegian', 'English', 'German', 'Norwegian'])[1 + (i + i / 4) % 4],
         1950 + (i * 37) % 75, 80 + (i * 97) % 700 from generate_series(1, 150) i;
insert into copies select i, 1 + (i * 29) % 145, 1 + (i * 3 + i / 6) % 5, current_date - 30 - (i * 211) % 3000, (array['good', 'good', 'worn', 'good', 'damaged', 'good', 'worn'])[1 + (i * 11) % 7], 8 + (i * 53) % 40 + 0.9 from generate_series(1, 420) i;
insert into loans
  select i, 1 + (i * 71 + i * i) % 400, 1 + (i * 41 + i / 3) % 225, current_date - (i * 23) % 900, current_date - (i * 23) % 900 + 28,
         case when i % 29 = 0 or (i * 23) % 900 < 12 then null else least(current_date, current_date - (i * 23) % 900 + 3 + (i * 17) % 38) end, (i * 7) % 4
  from generate_series(1, 2100) i;
insert into reservations select i, 1 + (i * 31) % 150, 1 + (i * 59) % 240, current_date - (i * 37) % 500, (array['waiting', 'ready', 'collected', 'expired', 'collected'])[1 + (i * 3 + i / 8) % 5] from generate_series(1, 380) i;
insert into fines
  select i, l.id, l.member_id, least(current_date, l.due_on + 1), 2 + (i * 13) % 45 + 0.5, case when i % 4 = 0 then null else least(current_date, l.due_on + 3 + (i * 5) % 40) end,
         (array['late return', 'lost book', 'damage', 'late return'])[1 + (i * 3 + i / 5) % 4]
  from generate_series(1, 330) i join loans l on l.id = i * 6;
insert into events select i, (array['Reading', 'Workshop', 'Story hour', 'Lecture'])[1 + i % 4] || ' ' || i, 1 + (i * 3) % 5, (array['reading', 'workshop', 'children', 'lecture'])[1 + i % 4], current_date + 60 - (i * 13) % 800, case when 60 - (i * 13) % 800 > 0 then 0 else 5 + (i * 19) % 90 end, 40 + (i * 67) % 400 from generate_series(1, 160) i;
insert into librarians select i, (array['Kari', 'Lars', 'Mona', 'Nils', 'Oda', 'Per'])[1 + i % 6] || ' ' || (array['Vik', 'Wold', 'Ystad', 'Tveit'])[1 + i % 4], 1 + i % 5, (array['librarian', 'assistant', 'manager', 'librarian'])[1 + (i * 3 + i / 5) % 4],
         current_date - 100 - (i * 373) % 5000, 2800 + (i * 157) % 1900, (array[20, 30, 37])[1 + i % 3] from generate_series(1, 22) i;
