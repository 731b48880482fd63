/** One member of a header like Accept: its value in lower case, its parameters left out, and how much it is wanted. */
export interface Weighted {
  readonly value: string;
  readonly quality: number;
}

const quality = /^\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i;

/** The members of a weighted list (RFC 9110, section 12.4.2). One with a quality that is none does not count. */
export function parseWeighted(header: string): Weighted[] {
  return header.split(',').flatMap((member) => {
    const [value = '', ...parameters] = member.split(';');
    const weight = parameters.find((parameter) => /^\s*q\s*=/i.test(parameter));
    const found = weight === undefined ? '1' : quality.exec(weight)?.[1];
    return found === undefined || value.trim() === '' ? [] : [{ value: value.trim().toLowerCase(), quality: Number(found) }];
  });
}
