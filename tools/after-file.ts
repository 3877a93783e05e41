/** What helpers of tests clean up after each file. A hook at the top of a helper would run for the first file alone where files share a process. */
const cleanUps = new Set<() => void | Promise<void>>()

/** Once for each helper, when it is loaded. */
export function afterEachFile(cleanUp: () => void | Promise<void>): void {
  cleanUps.add(cleanUp)
}

/** For the runner. */
export async function cleanUpAfterFile(): Promise<void> {
  for (const cleanUp of cleanUps) await cleanUp()
}
