/** `"${id}"` in later operations stands for the OID of an object made earlier (contract 7). */

/** OIDs by the ids that are declared so far. */
export type Ids = ReadonlyMap<string, string>

const reference = /\$\{([A-Za-z_][A-Za-z0-9_-]*)\}/g
const wholeReference = /^\$(\$?)\{([A-Za-z_][A-Za-z0-9_-]*)\}$/

/** Anywhere in the text; what is not declared stays as it is. */
export function substituteInUri(uri: string, ids: Ids): string {
  return uri.replace(reference, (text, id: string) => ids.get(id) ?? text)
}

const valuesAtOnce = 1_024

/** Texts that are a reference as a whole, at any depth; `"$${id}"` writes the text `${id}`. Yields where others may have their turn. */
export function* substituteInBody(body: unknown, ids: Ids): Generator<undefined, unknown> {
  if (!isContainer(body)) return substituteInScalar(body, ids)
  let values = 0
  if (Array.isArray(body)) {
    const elements: unknown[] = []
    for (const one of body) {
      elements.push(isContainer(one) ? yield* substituteInBody(one, ids) : substituteInScalar(one, ids))
      if (++values % valuesAtOnce === 0) yield
    }
    yield
    return elements
  }
  const fields: [string, unknown][] = []
  for (const [name, value] of Object.entries(body)) {
    fields.push([name, isContainer(value) ? yield* substituteInBody(value, ids) : substituteInScalar(value, ids)])
    if (++values % valuesAtOnce === 0) yield
  }
  yield
  return Object.fromEntries(fields)
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function substituteInScalar(value: unknown, ids: Ids): unknown {
  return typeof value === 'string' ? substituteText(value, ids) : value
}

function substituteText(text: string, ids: Ids): string {
  const [, second, id = ''] = wholeReference.exec(text) ?? []
  if (second === undefined) return text
  if (second === '$') return ids.has(id) ? text.slice(1) : text
  return ids.get(id) ?? text
}
