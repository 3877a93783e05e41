/** Parts of the text of commit functions that the drivers for PostgreSQL and Citus share. */
import { plainContentBytes } from '../range-content.ts'
import { lockFlags, parameterNames, parameterTypes, preconditionKind } from './commit-parameters.ts'

export function signature(schema: string): string {
  const parameters = parameterNames.map((name) => `p_${name} ${parameterTypes[name]}`)
  return `${schema}.commit(${parameters.join(', ')}) RETURNS int4[] LANGUAGE plpgsql`
}

/** Greater than all keys, since none is so long. As a value instead of a separate condition, it bounds the index scan. */
export const aboveAllKeys = `decode(repeat('ff', 2048), 'hex')`

/** The contribution of an entry to the content of a range. */
export function entryContent(valueBytes: string): string {
  return `int2send(length(key)::int2) || key
            || CASE WHEN ${valueBytes} = 0 THEN ''::bytea ELSE int4send(length(value)) || substr(value, 1, ${valueBytes}) END`
}

/** The content in the form that commits send. */
export function contentText(content: string): string {
  return `encode(CASE WHEN length(${content}) > ${plainContentBytes} THEN sha256(${content}) ELSE ${content} END, 'hex')`
}

/** Branches that follow an IF: rows are locked as weakly as their uses, the expression `wants`, permit. */
export function byStrength(wants: string, lock: (strength: string) => string): string {
  return `${wants} & ${lockFlags.delete | lockFlags.rangeLock} <> 0 THEN
      ${lock('UPDATE')}
    ELSIF ${wants} & ${lockFlags.put} <> 0 THEN
      ${lock('NO KEY UPDATE')}
    ELSIF ${wants} & ${lockFlags.revision} <> 0 THEN
      ${lock('SHARE')}
    ELSE
      ${lock('KEY SHARE')}
    END IF;`
}

/** `isOther`: whether the key of a precondition is there that is not among the locked ones. `which`: the preconditions that may have failed. */
export function checkKeys(isOther: string, which: string): string {
  return `
  IF locked > 0 OR NOT is_all_new THEN
    FOR r IN SELECT k, s, x, i, c FROM unnest(p_kinds, p_subjects, p_prefixes, p_positions, p_expecters) AS u(k, s, x, i, c)
      WHERE ${which}
    LOOP
      CONTINUE WHEN r.c = ANY (losers);
      IF r.s <= locked THEN
        found_it := is_there[r.s];
      ELSE
        found_it := ${isOther};
      END IF;
      IF found_it = (r.k = ${preconditionKind.absent})
        OR (r.k = ${preconditionKind.revision} AND substr(heads[r.s], 1, length(r.x)) <> r.x)
      THEN
        lost := lost || r.i;
        losers := losers || r.c;
      END IF;
    END LOOP;
  END IF;`
}
