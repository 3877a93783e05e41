/** The structural check of an LMDB store that nobody has open, and that nobody can open meanwhile. */
import { storeOpeningMsMax } from '../../limits.ts'
import type { Bytes } from '../store.ts'
import { gateOf, joinOthers } from './open-environment.ts'
import { type FileReport, verifyDataFile } from './verify-data-file.ts'

export type { FileReport }

/** `nameOf`: what the entry under a key is to people. Throws an `Error` for the operator where there is no such file. */
export async function verifyLmdbFile(
  directory: string,
  nameOf: (key: Bytes) => string,
): Promise<FileReport | { readonly notChecked: string }> {
  const gate = gateOf(directory, true)
  try {
    if (!(await gate.enterAlone(storeOpeningMsMax))) return { notChecked: 'processes keep opening and writing it' }
    const membership = await joinOthers(directory, gate)
    try {
      if (membership?.isShared === true) return { notChecked: 'this process has the store open' }
      const [pid] = membership?.otherPids ?? []
      if (pid !== undefined) return { notChecked: `process ${pid} has the store open` }
      return verifyDataFile(directory, nameOf)
    } finally {
      membership?.leave()
      gate.leave()
    }
  } finally {
    gate.close()
  }
}
