/** Binds parsed expressions: resolves names in the catalog and checks types. Throws QueryError. */
import { truncateForMessage } from '../../errors.ts'
import type { Expression, LiteralExpression, Statement, SystemExpression } from '../language/ast.ts'
import { userType } from '../values/user.ts'
import { fractionType, nullType, type ValueType } from '../values/value-type.ts'
import { bindCall } from './bind-call.ts'
import { bindCase } from './bind-case.ts'
import { bindOperation } from './bind-operation.ts'
import { bindMember, bindName, bindSlice, bindSubscript } from './bind-path.ts'
import { bindShape } from './bind-shape.ts'
import { bindUnion } from './bind-union.ts'
import { bindCast, bindCreate, bindElements, bindInterval, bindPairs, bindStructure } from './bind-value.ts'
import { bindWindow } from './bind-window.ts'
import type { Bound } from './bound.ts'
import { hint } from './class-names.ts'
import { asReal } from './coercion.ts'
import type { Binder, Scope } from './scope.ts'

export function bindExpression(expression: Expression, scope: Scope, binder: Binder): Bound {
  const { start, end } = expression
  switch (expression.kind) {
    case 'literal':
      return bindLiteral(expression)
    case 'name':
      return bindName(expression, scope, binder)
    case 'member':
      return bindMember(expression, scope, binder)
    case 'subscript':
      return bindSubscript(expression, scope, binder)
    case 'slice':
      return bindSlice(expression, scope, binder)
    case 'variable': {
      const type = binder.variables.get(expression.name)
      if (type === undefined) {
        const names = [...binder.variables.keys()]
        throw binder.error(
          expression,
          `there is no parameter or variable $${truncateForMessage(expression.name)}: parameters and LET last for one request${hint(expression.name, names)}`,
        )
      }
      return asReal({ kind: 'variable', name: expression.name, type, start, end })
    }
    case 'system':
      return bindSystem(expression.name, expression, scope, binder)
    case 'operation':
      return bindOperation(expression, scope, binder)
    case 'call':
      return bindCall(expression, scope, binder)
    case 'window':
      return bindWindow(expression, scope, binder)
    case 'case':
      return bindCase(expression, scope, binder)
    case 'cast':
      return bindCast(expression, scope, binder)
    case 'elements':
      return bindElements(expression, scope, binder)
    case 'pairs':
      return bindPairs(expression, scope, binder)
    case 'interval':
      return bindInterval(expression, scope, binder)
    case 'structure':
      return bindStructure(expression, scope, binder)
    case 'nested':
      return bindNested(expression.statement, expression, scope, binder)
    case 'union':
      return bindUnion(expression, binder)
    case 'shape':
      return bindShape(expression, scope, binder)
  }
}

function bindLiteral({ literal, start, end }: LiteralExpression): Bound {
  const type: ValueType =
    literal.type === 'null'
      ? nullType
      : literal.type === 'oid'
        ? { kind: 'reference', cls: null }
        : literal.type === 'real' && literal.isFraction === true
          ? fractionType
          : { kind: literal.type }
  const digits = literal.type === 'real' ? { digits: literal.digits } : {}
  return { kind: 'constant', value: literal.value, ...digits, type, start, end }
}

function bindSystem(name: SystemExpression['name'], span: Expression, scope: Scope, binder: Binder): Bound {
  const { start, end } = span
  if (name === 'NOW') return { kind: 'now', type: { kind: 'datetime' }, start, end }
  if (name === 'USER') return { kind: 'user', type: userType, start, end }
  for (let around: Scope | undefined = scope; around !== undefined; around = around.outer) {
    const { context } = around
    if (context === undefined || (context.type.kind !== 'reference' && context.type.kind !== 'object')) continue
    return { kind: 'self', slot: context.slot, type: { kind: 'reference', cls: context.type.cls }, start, end }
  }
  throw binder.error(span, `$$${name} is the reference of an object, and there is none here`)
}

function bindNested(statement: Statement, { start, end }: Expression, scope: Scope, binder: Binder): Bound {
  if (statement.kind === 'create') {
    const create = bindCreate(statement, scope, binder)
    return { kind: 'create', create, type: { kind: 'reference', cls: create.cls }, start, end }
  }
  return binder.bindNested(statement, scope, { start, end })
}
