export const warehouses = ['Hamburg', 'Rotterdam', 'Lyon'] as const;

/** Country and city. */
export const cities = [
  ['Germany', 'Hamburg'],
  ['Germany', 'Munich'],
  ['Germany', 'Berlin'],
  ['Netherlands', 'Rotterdam'],
  ['Netherlands', 'Utrecht'],
  ['France', 'Lyon'],
  ['France', 'Paris'],
  ['Spain', 'Madrid'],
  ['Italy', 'Milan'],
  ['Poland', 'Gdansk'],
  ['Austria', 'Vienna'],
  ['Sweden', 'Malmo'],
] as const;

export const companyBeginnings = [
  'Alder',
  'Beacon',
  'Cobalt',
  'Dovetail',
  'Elmwood',
  'Fairway',
  'Granite',
  'Harbor',
  'Ivory',
  'Juniper',
  'Keystone',
  'Larch',
  'Meridian',
  'Northgate',
  'Orchard',
  'Pinnacle',
  'Quarry',
  'Riverside',
  'Summit',
  'Tideway',
  'Umber',
  'Vantage',
  'Westbrook',
  'Yarrow',
] as const;

export const companyEndings = ['Interiors', 'Hotels', 'Logistics', 'Offices', 'Clinics'] as const;

export const supplierNames = [
  'Baltic Timber',
  'Nordlicht Leuchten',
  'Steelform',
  'Oakline Mills',
  'Clearview Glass',
  'Textil Porto',
  'Motionworks',
  'Greenfoam',
  'Kabel und Licht',
  'Ferrum Fittings',
  'Lumina Parts',
  'Papyrus Supply',
  'Deskcraft',
  'Rollrite Castors',
] as const;

export const firstNames = [
  'Anna',
  'Ben',
  'Clara',
  'David',
  'Elena',
  'Felix',
  'Greta',
  'Hugo',
  'Ines',
  'Jonas',
  'Katja',
  'Lukas',
  'Marta',
  'Nils',
  'Olga',
  'Paul',
  'Rosa',
  'Stefan',
  'Tilda',
  'Viktor',
] as const;

export const lastNames = [
  'Adler',
  'Brandt',
  'Castro',
  'Dahl',
  'Engel',
  'Fischer',
  'Garcia',
  'Hansen',
  'Ivanova',
  'Jansen',
  'Keller',
  'Lopez',
  'Moretti',
  'Novak',
  'Olsen',
  'Peters',
  'Rossi',
  'Schmidt',
  'Thomas',
  'Vogel',
] as const;

/** Category, kind, and the lowest and highest price of the kind in cents. */
export const productKinds = [
  ['Desks', 'Desk', 22_000, 89_000],
  ['Chairs', 'Chair', 9_000, 64_000],
  ['Storage', 'Cabinet', 12_000, 48_000],
  ['Lighting', 'Lamp', 2_900, 24_000],
  ['Accessories', 'Tray', 900, 6_900],
] as const;

export const productLines = [
  'Aster',
  'Borea',
  'Cirrus',
  'Delta',
  'Evo',
  'Forma',
  'Gamma',
  'Halo',
  'Linea',
  'Modulo',
  'Nova',
  'Terra',
] as const;

/** Department, number of employees, and their job titles; the first one leads it. */
export const departments = [
  ['Management', 3, ['Managing Director', 'Head of Operations', 'Assistant']],
  ['Sales', 10, ['Head of Sales', 'Account Manager', 'Sales Representative']],
  ['Finance', 6, ['Head of Finance', 'Accountant', 'Controller']],
  ['Purchasing', 5, ['Head of Purchasing', 'Buyer', 'Buyer']],
  ['Warehouse', 14, ['Warehouse Manager', 'Picker', 'Forklift Driver']],
  ['HR', 4, ['Head of HR', 'Recruiter', 'HR Assistant']],
  ['IT', 6, ['Head of IT', 'Engineer', 'Support Technician']],
] as const;
