-- A clinic, made of arithmetic alone: the same rows every time, with days relative to the current one.
create table departments (id integer primary key, name text not null, floor integer not null);
create table doctors (
  id integer primary key, full_name text not null, department_id integer not null references departments (id), specialty text not null,
  hourly_rate numeric(8,2) not null, employed_since date not null, active boolean not null);
create table insurers (id integer primary key, name text not null, kind text not null);
create table patients (
  id integer primary key, full_name text not null, sex text not null, date_of_birth date not null, city text not null,
  insurer_id integer references insurers (id), registered_on date not null);
create table appointments (
  id integer primary key, patient_id integer not null references patients (id), doctor_id integer not null references doctors (id),
  scheduled_at timestamp not null, duration_minutes integer not null, kind text not null, status text not null, room text not null);
create table procedures (id integer primary key, name text not null, category text not null, list_price_eur numeric(8,2) not null);
create table treatments (
  id integer primary key, appointment_id integer not null references appointments (id), procedure_id integer not null references procedures (id),
  units integer not null, price_eur numeric(10,2) not null, material_cost_eur numeric(10,2) not null);
create table admissions (
  id integer primary key, patient_id integer not null references patients (id), department_id integer not null references departments (id),
  admitted_on date not null, discharged_on date, ward text not null, reason text not null);
create table bills (
  id integer primary key, bill_number text not null unique, patient_id integer not null references patients (id), billed_on date not null,
  due_on date not null, paid_on date, amount_eur numeric(10,2) not null);
create table medications (id integer primary key, name text not null, stock_units integer not null, minimum_units integer not null, unit_cost_eur numeric(8,2) not null);
create table prescriptions (
  id integer primary key, patient_id integer not null references patients (id), doctor_id integer not null references doctors (id),
  medication_id integer not null references medications (id), prescribed_on date not null, quantity integer not null);
comment on table departments is 'Departments of the clinic';
comment on table appointments is 'Appointments; status is scheduled, completed, cancelled or no-show';
comment on table treatments is 'Procedures done in appointments; price and cost of the whole line';
comment on table admissions is 'Stays in a ward; discharged_on is empty while the patient is in the clinic';
comment on table bills is 'Bills to patients; paid_on is empty while the bill is unpaid';

insert into departments select i, (array['Cardiology', 'Orthopedics', 'Pediatrics', 'Radiology', 'Surgery'])[i], 1 + i % 3 from generate_series(1, 5) i;
insert into doctors
  select i, (array['Ada', 'Bruno', 'Celia', 'Dario', 'Esther', 'Fabio', 'Gina', 'Henrik'])[1 + i % 8] || ' ' || (array['Lindqvist', 'Moser', 'Nakamura', 'Okafor', 'Petrov'])[1 + i % 5],
         1 + i % 5, (array['general', 'heart', 'joints', 'children', 'imaging', 'trauma'])[1 + (i * 7) % 6], 60 + (i * 37) % 90,
         current_date - 200 - (i * 311) % 4000, i % 9 <> 0
  from generate_series(1, 24) i;
insert into insurers select i, (array['Helvia', 'Sanitas Nord', 'Vitalis', 'CareUnion'])[i], (array['public', 'private'])[1 + i % 2] from generate_series(1, 4) i;
insert into patients
  select i, (array['Amira', 'Boris', 'Chiara', 'Denis', 'Edda', 'Filip', 'Grace', 'Hamid', 'Irene', 'Jakub'])[1 + i % 10] || ' '
         || (array['Abel', 'Bianchi', 'Cerny', 'Duval', 'Egger', 'Ferrer', 'Gruber', 'Horvat', 'Imhof', 'Jordan', 'Kraus', 'Lang', 'Meyer'])[1 + i % 13],
         (array['female', 'male'])[1 + i % 2], current_date - 700 - (i * 7919) % 31000,
         (array['Zurich', 'Basel', 'Bern', 'Geneva', 'Lugano'])[1 + (i * i / 3) % 5], case when i % 11 = 0 then null else 1 + (i * 3) % 4 end,
         current_date - (i * 613) % 1400
  from generate_series(1, 260) i;
insert into appointments
  select i, 1 + (i * 97 + i * i) % 250, 1 + (i * 31 + i / 7) % 24,
         current_date + ((i * 17) % 780 - 720) * interval '1 day' + (8 + i % 9) * interval '1 hour', (array[15, 20, 30, 45, 60])[1 + (i * 3) % 5],
         (array['first visit', 'follow-up', 'check-up', 'emergency'])[1 + (i * 5 + i / 4) % 4],
         case when (i * 17) % 780 - 720 >= 0 then 'scheduled' else (array['completed', 'completed', 'completed', 'completed', 'cancelled', 'completed', 'no-show', 'completed'])[1 + (i * 13 + i / 8) % 8] end,
         'Room ' || 1 + i % 12
  from generate_series(1, 1800) i;
insert into procedures
  select i, (array['Consultation', 'ECG', 'X-ray', 'Ultrasound', 'Blood test', 'Physiotherapy', 'Vaccination', 'MRI scan', 'Minor surgery', 'Wound care'])[i],
         (array['Consulting', 'Diagnostics', 'Diagnostics', 'Diagnostics', 'Laboratory', 'Therapy', 'Prevention', 'Diagnostics', 'Surgical', 'Therapy'])[i],
         (array[90, 120, 150, 180, 60, 110, 45, 640, 900, 75])[i]
  from generate_series(1, 10) i;
insert into treatments
  select row_number() over (order by a.id, k), a.id, p.id, 1 + (a.id + k) % 3, round(p.list_price_eur * (1 + (a.id + k) % 3) * (100 - (a.id * k) % 4 * 5) / 100, 2),
         round(p.list_price_eur * (1 + (a.id + k) % 3) * (15 + (a.id * 7 + k) % 40) / 100, 2)
  from appointments a cross join generate_series(1, 2) k join procedures p on p.id = 1 + (a.id * 7 + k * 3) % 10
  where a.status = 'completed' and (k = 1 or a.id % 3 = 0);
insert into admissions
  select i, 1 + (i * 53) % 250, 1 + (i * 3) % 5, current_date - (i * 29) % 700 - 1,
         case when (i * 29) % 700 < 12 and i % 3 <> 0 then null else least(current_date, current_date - (i * 29) % 700 + i % 14) end,
         (array['A1', 'A2', 'B1', 'B2'])[1 + i % 4], (array['observation', 'operation', 'accident', 'infection'])[1 + (i * 7) % 4]
  from generate_series(1, 300) i;
insert into bills
  select i, 'B-' || lpad(i::text, 4, '0'), 1 + (i * 71) % 250, current_date - (i * 23) % 600, current_date - (i * 23) % 600 + 30,
         case when i % 6 = 0 or (i * 23) % 600 < 20 then null else least(current_date, current_date - (i * 23) % 600 + (i * 11) % 55) end, 40 + (i * 137) % 1900 + 0.5
  from generate_series(1, 700) i;
insert into medications
  select i, (array['Amoxil', 'Betacor', 'Cardiprin', 'Dolorex', 'Enalap', 'Fluvent', 'Gastrozol', 'Heparex'])[i], (i * 83) % 240, (array[40, 60, 80, 100])[1 + i % 4], 2 + (i * 1.75)
  from generate_series(1, 8) i;
insert into prescriptions
  select i, 1 + (i * 37) % 250, 1 + (i * 11) % 24, 1 + (i * i + i / 5) % 8, current_date - (i * 19) % 640, 1 + i % 5 from generate_series(1, 900) i;
