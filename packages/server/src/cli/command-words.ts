/** Translates messages of a server about REST parameters into the options of the command line. */
import { clientVariables } from '../config/config-environment.ts'

/** The names of request parameters on the command line. */
const words: Readonly<Record<string, string>> = {
  after: '--after',
  attributes: '--attributes',
  class: 'a class',
  columns: '--columns',
  escapeFormulas: '--escape-formulas',
  fdAlias: '--fd',
  format: '--format',
  ifMatch: '--if-match',
  include: '--keys',
  onError: '--rejects',
  query: '--query',
  since: '--since',
  upsertOn: '--upsert-on',
  where: '--where',
}

const byFd = `by --fd, ${clientVariables.fd} or a profile`

/** A message of `operations/export.ts`. */
const exportOnlyReads = 'An export only reads: statements that change something are for POST /v1/query.'

/** Returns other messages unchanged. */
export function inCommandWords(message: string): string {
  const required = /^fdAlias is required(?:: one of (.*))?\.$/s.exec(message)
  if (required !== null) {
    const there = required[1] === undefined ? '' : `: there are ${required[1]}`
    return `The server has several federated databases; name one ${byFd}${there}.`
  }
  if (message.startsWith('fdAlias must be specified once'))
    return `The name of the federated database is empty: give it ${byFd}.`
  if (message === exportOnlyReads) return 'An export only reads: statements that change something are for ashlar query.'
  const [matched, names = ''] = /^The parameters? ((?:'?\w+(?:=\w+)?'?(?:, | and )?)+)(?= )/.exec(message) ?? []
  if (matched === undefined) return message
  const options = names.split(/(, | and )/).map((part, at) => (at % 2 === 1 ? part : optionOf(part)))
  // Keep the server's message if a parameter has no option.
  return options.includes(undefined) ? message : sentence(`${options.join('')}${message.slice(matched.length)}`)
}

/** `'format=ndjson'` → `--format ndjson`. */
function optionOf(part: string): string | undefined {
  const [, name = '', value] = /^'?(\w+)(?:=(\w+))?'?$/.exec(part) ?? []
  const option = Object.hasOwn(words, name) ? words[name] : undefined
  return option === undefined || value === undefined ? option : `${option} ${value}`
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
