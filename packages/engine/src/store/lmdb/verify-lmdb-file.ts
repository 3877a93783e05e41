/** Checks the structure of an LMDB store that no process has open, and that none can open meanwhile. */
import { storeOpeningMsMax } from '../../limits.ts'
import type { Bytes } from '../store.ts'
import { checkPresence } from './check-data-file.ts'
import { describeFileFailure } from './file-failure.ts'
import type { Gate } from './gate.ts'
import { checkIsStore, gateOf, joinOthers } from './open-environment.ts'
import { type FileReport, verifyDataFile } from './verify-data-file.ts'

/** `nameOf` names the entry of a key in messages. Throws an `Error` for the operator if there is no such file, or it is unreadable. */
export async function verifyLmdbFile(
  directory: string,
  nameOf: (key: Bytes) => string,
): Promise<FileReport | { readonly notChecked: string }> {
  try {
    checkIsStore(directory)
    return await verifyThroughGate(directory, gateOf(directory, true), nameOf)
  } catch (cause) {
    throw new Error(`The LMDB store in ${directory} cannot be checked: ${describeFileFailure(cause, directory)}`, {
      cause,
    })
  }
}

async function verifyThroughGate(
  directory: string,
  gate: Gate,
  nameOf: (key: Bytes) => string,
): Promise<FileReport | { readonly notChecked: string }> {
  try {
    if (!(await gate.enterAlone(storeOpeningMsMax))) return { notChecked: 'processes keep opening and writing it' }
    const membership = await joinOthers(directory, gate)
    try {
      if (membership?.isShared === true) return { notChecked: 'this process has the store open' }
      const [pid] = membership?.otherPids ?? []
      if (pid !== undefined) return { notChecked: `process ${pid} has the store open` }
      checkPresence(directory)
      return verifyDataFile(directory, nameOf)
    } finally {
      membership?.leave()
      gate.leave()
    }
  } finally {
    gate.close()
  }
}
