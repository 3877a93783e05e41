/** The exit codes of commands. docs/command-line.md is generated from them. */

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

export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'success',
  failed: 'internal error of the server, or a problem of this machine such as a full disk',
  usage:
    'invalid command line, profile, mapping or configuration file; or a file, directory or store that the command line names does not exist, is of another kind, or may not be used. Nothing was changed',
  notFound: 'not found, or no longer kept (404, 410)',
  refused: 'not authenticated, or not permitted (401, 403)',
  conflict: 'conflict with what is there, such as a target that is not empty, or with a concurrent change (409, 412)',
  unavailable:
    'the server or database cannot be reached, is overloaded or is shutting down (429, 502, 503, 504); retrying may help',
  invalid:
    'invalid data or statement, in a file, on standard input or on the command line: damaged, cut off, not in its format, or refused by the server (400, 413, 415, 422). The message names the place, and what was done before',
  different: 'the schema differs from the files (`schema check`, `schema diff`)',
  interrupted: 'interrupted by Ctrl-C',
}

const exitCodesByStatus: Readonly<Record<number, number>> = {
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

export function exitCodeOfStatus(status: number): number {
  return exitCodesByStatus[status] ?? exitCodes.failed
}
