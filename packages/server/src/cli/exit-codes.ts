/** What the exit code of a command says. Rule of docs/command-line.md, which has them from here. */

export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  conflict: 5,
  unavailable: 6,
  invalid: 7,
  different: 8,
  interrupted: 130,
} as const

/** For people, in the reference. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'success',
  failed: 'internal error of the server, or a problem of this machine',
  usage: 'invalid command line, profile or configuration file; nothing was sent',
  notFound: 'not found, or no longer kept (404, 410)',
  refused: 'not authenticated, or not permitted (401, 403)',
  conflict: 'conflict with stored data, or with a concurrent change (409, 412)',
  unavailable:
    'the server cannot be reached, is overloaded or is shutting down (429, 502, 503, 504); retrying may help',
  invalid: 'invalid data or statement; the message names the place (400, 413, 415, 422)',
  different: 'the schema differs from the files (`schema check`, `schema diff`)',
  interrupted: 'interrupted by Ctrl-C',
}

const ofStatus: Readonly<Record<number, number>> = {
  400: exitCodes.invalid,
  401: exitCodes.refused,
  403: exitCodes.refused,
  404: exitCodes.notFound,
  409: exitCodes.conflict,
  410: exitCodes.notFound,
  412: exitCodes.conflict,
  413: exitCodes.invalid,
  415: exitCodes.invalid,
  422: exitCodes.invalid,
  429: exitCodes.unavailable,
  502: exitCodes.unavailable,
  503: exitCodes.unavailable,
  504: exitCodes.unavailable,
}

/** Of a refusal by the server. `status`: of HTTP. */
export function exitCodeOfStatus(status: number): number {
  return ofStatus[status] ?? exitCodes.failed
}
