import { z } from 'zod';

const form = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/;
const sentence = 'must be a URL that begins with postgres:// or postgresql://';

/**
 * A PostgreSQL URL, which may name several servers as libpq does: `postgres://user:password@one:5432,two:5432/db?target_session_attrs=read-write`.
 * Several URLs are separated by spaces, as with the old and the new password of a role: the one that works is used.
 */
export const databaseUrl = () =>
  z.string().superRefine((value, context) => {
    try {
      serverUrls(value);
    } catch (cause) {
      context.addIssue((cause as Error).message);
    }
  });

/** One URL for each server that the setting names. Errors are sentences for the operator, without the value. */
export const serverUrls = (setting: string): string[] => setting.trim().split(/\s+/).flatMap(serversOf);

function serversOf(url: string): string[] {
  const [, start = '', hosts = '', end = ''] = form.exec(url) ?? [];
  const urls = hosts.split(',').map((host) => `${start}${host}${end}`);
  if (start === '' || !urls.every((each) => URL.canParse(each))) throw new RangeError(sentence);
  return urls.map(withoutTarget);
}

/** The URL without `target_session_attrs`: a service writes, and under every value needs a server that accepts writes. */
function withoutTarget(url: string): string {
  const target = new URL(url).searchParams.get('target_session_attrs');
  if (target === null) return url;
  if (!['any', 'primary', 'read-write'].includes(target)) throw new RangeError('must have target_session_attrs=read-write or none');
  return url.replace(/([?&])target_session_attrs=[^&#]*&?/, '$1').replace(/[?&]$/, '');
}

/** The same servers and database for another role. */
export function withRole(url: string, role: string, password: string): string {
  return url.replace(form, (_, start: string, hosts: string, end: string) => {
    const scheme = start.slice(0, start.indexOf('//') + 2);
    return `${scheme}${encodeURIComponent(role)}:${encodeURIComponent(password)}@${hosts}${end}`;
  });
}

/** The same roles and databases at another address, as that of a pooler. */
export function withAddress(setting: string, address: string): string {
  const urls = serverUrls(setting).map((url) => url.replace(form, (_, start: string, _hosts, end: string) => `${start}${address}${end}`));
  return [...new Set(urls)].join(' ');
}

/** The role that the URL names. */
export const roleOf = (url: string): string => decodeURIComponent(new URL(serverUrls(url)[0] as string).username);

/** Without the options of a session, as `options=-c search_path=…`. */
export const withoutOptions = (setting: string): string =>
  setting.replaceAll(/([?&])options=[^&#\s]*&?/g, '$1').replaceAll(/[?&](?=\s|$)/g, '');
