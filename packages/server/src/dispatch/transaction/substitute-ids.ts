/** Replaces `"${id}"` in later operations by the OID of an object created earlier (contract 7). */

/** OIDs by the ids declared so far. */
export type Ids = ReadonlyMap<string, string>

const reference = /\$\{([A-Za-z_][A-Za-z0-9_-]*)\}/g
const anchoredReference = /^\$(\$?)\{([A-Za-z_][A-Za-z0-9_-]*)\}$/

/** Replaces references anywhere in the text; undeclared ones remain. */
export function substituteInUri(uri: string, ids: Ids): string {
  return uri.replace(reference, (text, id: string) => ids.get(id) ?? text)
}

/** Replaces strings that consist of a reference, at any depth. `"$${id}"` stands for the string `${id}`. */
export function substituteInBody(body: unknown, ids: Ids): unknown {
  if (typeof body === 'string') return substituteText(body, ids)
  if (typeof body !== 'object' || body === null) return body
  if (Array.isArray(body)) return body.map((element) => substituteInBody(element, ids))
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, substituteInBody(value, ids)]))
}

/** Replaces a single string like `substituteInBody`. */
export function substituteText(text: string, ids: Ids): string {
  const [, second, id = ''] = anchoredReference.exec(text) ?? []
  if (second === undefined) return text
  if (second === '$') return ids.has(id) ? text.slice(1) : text
  return ids.get(id) ?? text
}
