/** What helpers of tests clean up after each file. A hook at the top of a helper would run for the first file alone where files share a process. */
type CleanUp = () => void | Promise<void>

/** On the global object: where a file is isolated, the runner and the file each load this module. */
const shared = globalThis as typeof globalThis & { cleanUpsAfterFile?: Set<CleanUp> }
shared.cleanUpsAfterFile ??= new Set()
const cleanUps = shared.cleanUpsAfterFile

/** Once for each helper, when it is loaded. */
export function afterEachFile(cleanUp: () => void | Promise<void>): void {
  cleanUps.add(cleanUp)
}

/** For the runner. */
export async function cleanUpAfterFile(): Promise<void> {
  for (const cleanUp of cleanUps) await cleanUp()
}
