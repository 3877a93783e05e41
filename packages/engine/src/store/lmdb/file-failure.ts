/** Explains file system errors to the operator: their meaning for a store, and the remedy. */
import { systemErrorCode } from './owned-files.ts'

const reasons: Readonly<Record<string, (path: string, directory: string) => string>> = {
  ENOENT: (path) => `${path} is not there; check the address of the store, and where symbolic links lead`,
  ENOTDIR: (path) => `a part of the path ${path} is a file and has to be a directory; move it away, or name another`,
  EISDIR: (path) => `${path} is a directory and has to be a file; move it away while no process uses the store`,
  EEXIST: (path) => `${path} is a file and has to be a directory; move it away, or name another`,
  ELOOP: (path) =>
    `${path} is, or leads through, a symbolic link that is not followed or that leads to itself; put what it stands for in its place`,
  EROFS: (path) =>
    `the file system of ${path} is read-only; mount it so that it can be written to (ashlar copy and ashlar verify need only read)`,
  EACCES: (path, directory) => `the user who runs Ashlar may not use ${path}; ${ownershipRemedy(directory)}`,
  EPERM: (path, directory) => `the user who runs Ashlar may not use ${path}; ${ownershipRemedy(directory)}`,
  ENAMETOOLONG: (path) => `the path ${path} is longer than the file system takes; name a shorter one`,
  ENOSPC: (path) => `there is no room for ${path}: the disk is full; free some space`,
  EFBIG: (path) => `${path} would be larger than a file may be here; raise the limit (ulimit -f)`,
  EDQUOT: (path) => `there is no room for ${path}: the quota of the user is used up; free some space`,
  EMFILE: (path) => `${path} cannot be opened, since this process has too many files open; raise the limit (ulimit -n)`,
  ENFILE: (path) => `${path} cannot be opened, since the system has too many files open; raise its limit`,
}

/** A sentence without a full stop that names the path. `directory`: of the store. */
export function describeFileFailure(error: unknown, directory: string): string {
  if (!(error instanceof Error)) return String(error)
  const path = 'path' in error && typeof error.path === 'string' ? error.path : directory
  return reasons[String(systemErrorCode(error))]?.(path, directory) ?? error.message
}

export function ownershipRemedy(directory: string): string {
  return `the user who runs the server has to own ${directory} and all in it (chown -R <user> ${directory})`
}
