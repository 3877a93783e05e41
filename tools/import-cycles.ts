/** Finds files that import each other in a circle. */

/** One circle for each group of files that reach each other: its files in order, each imported by the one before. */
export function importCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = []
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): void => {
    const at = path.indexOf(file)
    if (at >= 0) cycles.push(path.slice(at))
    if (at >= 0 || done.has(file)) return
    path.push(file)
    for (const target of imports.get(file) ?? []) visit(target)
    path.pop()
    done.add(file)
  }
  for (const file of imports.keys()) visit(file)
  return cycles
}
