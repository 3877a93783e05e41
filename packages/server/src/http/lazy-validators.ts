/** How schemas of request bodies become checks: when the first such body comes, since most servers see few kinds of bodies. */
import { createRequire } from 'node:module'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'

type Check = ReturnType<ReturnType<BuildCompilerFromPool>>

let build: BuildCompilerFromPool | undefined

/** Ajv's own builder. It is loaded with the first check, and shared: servers of one process compile each schema once. */
function loadedBuilder(): BuildCompilerFromPool {
  if (build === undefined) {
    const { AjvCompiler } = createRequire(import.meta.url)('@fastify/ajv-compiler')
    build = AjvCompiler() as BuildCompilerFromPool
  }
  return build
}

const buildLater: BuildCompilerFromPool = (schemas, settings) => {
  return (schema) => {
    let check: Check | undefined
    const checkLater = (body: unknown): unknown => {
      check ??= loadedBuilder()(schemas, settings)(schema)
      const isValid = check(body)
      checkLater.errors = check.errors
      return isValid
    }
    checkLater.errors = undefined as Check['errors']
    return checkLater as Check
  }
}

/** For `schemaController`. Replies have no schemas: nothing is loaded that would serialize by one. */
export const lazyValidators = {
  compilersFactory: { buildValidator: buildLater, buildSerializer: () => () => JSON.stringify },
}
