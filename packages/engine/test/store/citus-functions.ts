/** Functions of Citus that have nothing to do where there is none, for what stands in for it. */
export const idleCitusFunctions = `
  CREATE FUNCTION recover_prepared_transactions() RETURNS int4 LANGUAGE sql AS 'SELECT 0';
  CREATE FUNCTION run_command_on_all_nodes(command text) RETURNS TABLE (success bool, result text) LANGUAGE sql AS $body$
    SELECT true, '0'
  $body$;
  CREATE FUNCTION citus_add_local_table_to_metadata(rel regclass) RETURNS void LANGUAGE sql AS '';
`
