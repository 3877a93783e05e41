/** Maps the failure of a command on stores, backups or archives to an exit code. */
import { addressProblem } from '@ashlar/engine/store-address'
import { CommandError, usageError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'

/** Operating system errors about the given path. */
const wrongPaths = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ELOOP', 'ENAMETOOLONG', 'EACCES', 'EPERM']
const unreachable = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']

const exitCodesByRefusal = {
  wrongPlace: exitCodes.usage,
  conflict: exitCodes.conflict,
  damaged: exitCodes.invalid,
} as const

const exitCodesByCode: readonly (readonly [RegExp, number])[] = [
  [new RegExp(`^(${wrongPaths.join('|')})$`), exitCodes.usage],
  // PostgreSQL: the database does not exist.
  [/^3D000$/, exitCodes.usage],
  // PostgreSQL: invalid authorization.
  [/^28...$/, exitCodes.refused],
  [new RegExp(`^(${unreachable.join('|')})$`), exitCodes.unavailable],
]

/** Returns a CommandError. `addresses`: the stores that the command uses. */
export async function storeFailure(error: unknown, addresses: readonly string[]): Promise<unknown> {
  if (error instanceof CommandError || !(error instanceof Error)) return error
  const { refusalCause } = await import('@ashlar/engine')
  const refusal = refusalCause(error)
  const isRemote = addresses.some((address) => /^postgres(ql)?:/.test(address))
  const exitCode = refusal === undefined ? exitCodeByCauses(error, isRemote) : exitCodesByRefusal[refusal]
  return new CommandError(exitCode, error.message)
}

/** Returns the exit code of the outermost known cause. */
function exitCodeByCauses(error: Error, isRemote: boolean): number {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (isRemote && 'type' in at && at.type === 'StoreUnavailable') return exitCodes.unavailable
    const code = 'code' in at ? String(at.code) : ''
    const match = exitCodesByCode.find(([pattern]) => pattern.test(code))
    if (match !== undefined) return match[1]
  }
  return exitCodes.failed
}

/** Checks addresses before a process is started for the command. Throws CommandError for an invalid one, or a store that only the serving process can use. */
export async function refuseAddresses(addresses: readonly string[], advice = ''): Promise<void> {
  for (const address of addresses) {
    const problem = addressProblem(address)
    if (problem !== undefined) throw usageError(problem)
    if (address !== 'memory:') continue
    const why = 'memory: is a store within the process that serves it, which no other process can read or write'
    throw usageError(`${why}. Name a store at lmdb:<directory> or postgres://<host>/<database>.${advice}`)
  }
}
