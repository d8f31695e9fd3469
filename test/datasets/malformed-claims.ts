/** Expected of a reply: `page|expected_target|role|answer_type|expected_claim` of each claim, or the reason of the fallback. */
export interface ReplyCase {
  name: string;
  reply: string;
  claims?: readonly string[];
  fallback?: 'empty_reply' | 'not_json' | 'cut_off' | 'no_claim';
}

/** The two claims that most replies try to say, and how they are read. */
const A = 'Salt Road|Mara Quill|bridge_title|person|Salt Road was directed by Mara Quill.';
const B = 'Mara Quill|Velm|answer_node|place|Mara Quill was born in Velm.';
const a =
  '{"target_entity": "Salt Road", "expected_target": "Mara Quill", "role": "bridge_title", "answer_type": "person", "expected_claim": "Salt Road was directed by Mara Quill."}';
const b =
  '{"target_entity": "Mara Quill", "expected_target": "Velm", "role": "answer_node", "answer_type": "place", "expected_claim": "Mara Quill was born in Velm."}';

/** What small models write in place of the list that they were asked for (known fault P97). */
export const REPLY_CASES: readonly ReplyCase[] = [
  { name: 'the list as it was asked for', reply: `[${a}, ${b}]`, claims: [A, B] },
  { name: 'the list over many lines', reply: JSON.stringify(JSON.parse(`[${a}, ${b}]`), null, 4), claims: [A, B] },
  { name: 'the wrapper of the schema', reply: `{"claims": [${a}, ${b}]}`, claims: [A, B] },
  { name: 'a fence with its language', reply: `\`\`\`json\n[${a}, ${b}]\n\`\`\``, claims: [A, B] },
  { name: 'a fence without', reply: `\`\`\`\n[${a}, ${b}]\n\`\`\``, claims: [A, B] },
  { name: 'an open fence that is never closed', reply: `\`\`\`json\n[${a}, ${b}]`, claims: [A, B] },
  { name: 'prose before', reply: `Sure! Here is the list:\n\n[${a}, ${b}]`, claims: [A, B] },
  { name: 'prose behind', reply: `[${a}, ${b}]\n\nNote that the role [of the first] is a bridge.`, claims: [A, B] },
  { name: 'prose with brackets before', reply: `As asked [1], in {JSON}:\n[${a}, ${b}]`, claims: [A, B] },
  { name: 'thinking before', reply: `<think>The pages are ["Salt Road"], then…</think>\n[${a}, ${b}]`, claims: [A, B] },
  { name: 'markers of a template', reply: `[${a}, ${b}]<|im_end|>\n<|endoftext|>`, claims: [A, B] },
  { name: 'a byte order mark', reply: `\ufeff[${a}, ${b}]`, claims: [A, B] },
  { name: 'one object in place of the list', reply: a.replace('bridge_title', 'answer_node'), claims: [A.replace('bridge_title', 'answer_node')] },
  { name: 'objects one below the other', reply: `${a}\n${b}`, claims: [A, B] },
  { name: 'objects with commas between and no list', reply: `${a},\n${b}`, claims: [A, B] },
  { name: 'objects in a numbered list', reply: `1. ${a}\n2. ${b}`, claims: [A, B] },
  { name: 'a fence for each object', reply: `\`\`\`json\n${a}\n\`\`\`\n\`\`\`json\n${b}\n\`\`\``, claims: [A, B] },
  { name: 'a list for each object', reply: `[${a}]\n[${b}]`, claims: [A] },
  { name: 'the same list twice', reply: `[${a}, ${b}]\nOr again:\n[${a}, ${b}]`, claims: [A, B] },
  { name: 'a wrapper of another name', reply: `{"hops": [${a}, ${b}]}`, claims: [A, B] },
  { name: 'two wrappers', reply: `{"result": {"claims": [${a}, ${b}]}}`, claims: [A, B] },
  { name: 'a wrapper with the question', reply: `{"question": "Where?", "list": [${a}, ${b}]}`, claims: [A, B] },
  { name: 'a list in a list', reply: `[[${a}], [${b}]]`, claims: [A, B] },
  { name: 'objects by number', reply: `{"1": ${a}, "2": ${b}}`, claims: [A, B] },
  { name: 'objects in objects', reply: `[{"hop": ${a}}, {"hop": ${b}}]`, claims: [A, B] },
  { name: 'trailing commas', reply: `[${a.replace('"}', '",}')}, ${b},]`, claims: [A, B] },
  { name: 'missing commas between objects', reply: `[${a}\n${b}]`, claims: [A, B] },
  { name: 'missing commas between fields', reply: `[${a.replaceAll('", "', '"\n"')}, ${b}]`, claims: [A, B] },
  { name: 'single quotes', reply: `[${a}, ${b}]`.replaceAll('"', "'"), claims: [A, B] },
  { name: 'curly quotes', reply: `[${a}, ${b}]`.replace(/"([^"]*)"/g, '“$1”'), claims: [A, B] },
  { name: 'bare keys', reply: `[${a}, ${b}]`.replace(/"(\w+)":/g, '$1:'), claims: [A, B] },
  { name: 'equals signs', reply: `[${a}, ${b}]`.replace(/"(\w+)":/g, '$1 ='), claims: [A, B] },
  { name: 'bare values', reply: '[{target_entity: Salt Road, expected_target: Mara Quill, role: bridge, answer_type: person, expected_claim: Salt Road was directed by Mara Quill.}]', claims: [A] },
  { name: 'comments', reply: `[\n// first\n${a}, /* then */ ${b}]`, claims: [A, B] },
  { name: 'a line break in a string', reply: `[${a.replace('was directed', 'was\ndirected')}, ${b}]`, claims: [A, B] },
  { name: 'a bracket too many', reply: `[${a}}, ${b}]]`, claims: [A, B] },
  { name: 'a bracket missing at the end', reply: `[${a}, ${b}`, claims: [A, B] },
  { name: 'the last object without its bracket', reply: `[${a}, ${b.slice(0, -1)}]`, claims: [A, B] },
  { name: 'the last object and the list without brackets', reply: `[${a}, ${b.slice(0, -1)}`, claims: [A, B] },
  { name: 'a list that is cut off in its second object', reply: `[${a}, ${b.slice(0, 60)}`, claims: [A.replace('bridge_title', 'bridge_title')] },
  { name: 'a list that is cut off in a key', reply: `[${a}, ${b}, {"target_ent`, claims: [A, B] },
  { name: 'a list that is cut off in its first object', reply: `[${a.slice(0, 90)}`, fallback: 'cut_off' },
  { name: 'a list that is cut off at its start', reply: '[', fallback: 'cut_off' },
  { name: 'quotes in a sentence', reply: `[${a.replace('"Salt Road was', '"The film "Salt Road" was')}]`, claims: [A.replace('|Salt Road was', '|The film "Salt Road" was')] },
  { name: 'quoted names with a comma behind', reply: `[${a.replace('"Salt Road was', '"Of "Salt Road", it was')}]`, claims: [A.replace('|Salt Road was', '|Of "Salt Road", it was')] },
  { name: 'an apostrophe between single quotes', reply: "[{'target_entity': 'Quill's House', 'expected_claim': 'It is Quill's.'}]", claims: ["Quill's House||answer_node||It is Quill's."] },
  { name: 'escapes', reply: '[{"target_entity": "Caf\\u00e9 \\"Velm\\"", "expected_claim": "It\\nstands.", "role": "intermediate"}]', claims: ['Café "Velm"||intermediate||It stands.'] },
  { name: 'the role’s name in the papers', reply: `[${a.replace('"role"', '"target_role"')}, ${b}]`, claims: [A, B] },
  { name: 'names in another case', reply: '[{"Target Entity": "Salt Road", "Expected-Target": "Mara Quill", "ROLE": "Bridge Title", "answerType": "person", "ExpectedClaim": "Salt Road was directed by Mara Quill."}]', claims: [A] },
  { name: 'other names', reply: '[{"page": "Salt Road", "answer": "Mara Quill", "role": "bridge entity", "type": "person", "claim": "Salt Road was directed by Mara Quill."}]', claims: [A] },
  { name: 'other roles', reply: '[{"entity": "X", "role": "bridge title", "fact": "x."}, {"entity": "Y", "role": "intermediate entity", "fact": "y."}, {"entity": "Z", "role": "final answer node", "fact": "z."}]', claims: ['X||bridge_title||x.', 'Y||intermediate||y.', 'Z||answer_node||z.'] },
  { name: 'roles that are none', reply: '[{"entity": "X", "role": "director", "fact": "x."}, {"entity": "Z", "role": 7, "fact": "z."}]', claims: ['X||bridge_title||x.', 'Z||answer_node||z.'] },
  { name: 'no claim, but page and target', reply: '[{"target_entity": "Salt Road", "expected_target": "Mara Quill"}]', claims: ['Salt Road|Mara Quill|answer_node||Salt Road: Mara Quill'] },
  { name: 'values that are no strings', reply: '[{"target_entity": ["Salt Road", "Quill"], "expected_target": 1961, "role": null, "answer_type": {"kind": "date"}, "expected_claim": "It is of 1961."}]', claims: ['Salt Road, Quill|1961|answer_node|date|It is of 1961.'] },
  { name: 'Python’s constants', reply: "[{'target_entity': 'Salt Road', 'expected_target': None, 'role': 'bridge_title', 'answer_type': True, 'expected_claim': 'It exists.'}]", claims: ['Salt Road||bridge_title|true|It exists.'] },
  { name: 'lists in the fields of one object', reply: '{"target_entity": ["Salt Road", "Mara Quill"], "role": "bridge_title", "expected_claim": ["It was directed.", "She was born."]}', claims: ['Salt Road||bridge_title||It was directed.', 'Mara Quill||bridge_title||She was born.'] },
  { name: 'strings in place of objects', reply: '["Salt Road", "The birthplace of the director of Salt Road has to be found."]', claims: ['Salt Road||bridge_title||Salt Road', '||answer_node||The birthplace of the director of Salt Road has to be found.'] },
  { name: 'the schema and then the list', reply: `{"type": "array", "items": {"type": "object", "properties": {"target_entity": {"type": "string", "description": "the page"}}, "required": ["target_entity", "expected_claim"]}}\n[${a}, ${b}]`, claims: [A, B] },
  { name: 'the schema alone', reply: '{"type": "object", "properties": {"target_entity": {"type": "string", "description": "A page."}, "expected_claim": {"type": "string"}}, "required": ["target_entity", "expected_claim"]}', fallback: 'no_claim' },
  { name: 'the fields with their meanings', reply: '[{"target_entity": "the title of the page to look up", "expected_target": "string", "role": "what the page does for the question", "answer_type": "string", "expected_claim": "one sentence that says what the evidence has to establish"}]', fallback: 'no_claim' },
  { name: 'the fields with dots', reply: '[{"target_entity": "...", "expected_target": "...", "role": "...", "answer_type": "...", "expected_claim": "..."}]', fallback: 'no_claim' },
  { name: 'the fields with angles', reply: '[{"target_entity": "<entity>", "expected_claim": "<what to find>"}]', fallback: 'no_claim' },
  { name: 'the names of the fields', reply: '["target_entity", "expected_target", "role", "answer_type", "expected_claim"]', fallback: 'no_claim' },
  { name: 'a repeated meaning, then claims', reply: `[{"target_entity": "string", "expected_claim": "string"}, ${a}, ${b}]`, claims: [A, B] },
  {
    name: 'a role in place of the claim, and one name twice',
    reply: 'JSON:\n\n```json\n{\n  "target_entity": "Salt Road",\n  "expected_target": "Salt Road",\n  "role": "bridge_title",\n  "claim": "bridge_title"\n}',
    claims: ['Salt Road|Salt Road|bridge_title||Salt Road'],
  },
  {
    name: 'one object whose fields repeat until it is cut off',
    reply: `{\n  "target_entity": "Salt Road",\n  "role": "bridge_title",${'\n  "role": "bridge_title",'.repeat(20)}\n  "ro`,
    fallback: 'cut_off',
  },
  { name: 'a page whose name is a placeholder elsewhere', reply: '[{"target_entity": "Unknown", "expected_target": "None", "role": "bridge_title", "answer_type": "person", "expected_claim": "The film Unknown was directed by someone."}, {"target_entity": "Text", "expected_claim": "A text names it."}, {"target_entity": "unknown", "expected_claim": "It is unknown."}]', claims: ['Unknown||bridge_title|person|The film Unknown was directed by someone.', '||bridge_title||A text names it.', '||answer_node||It is unknown.'] },
  { name: 'a placeholder for claim and page', reply: '[{"target_entity": "Text", "expected_claim": "Text"}]', fallback: 'no_claim' },
  { name: 'an empty list', reply: '[]', fallback: 'no_claim' },
  { name: 'an empty object', reply: '{}', fallback: 'no_claim' },
  { name: 'a list of numbers', reply: '[1, 2, 3]', fallback: 'no_claim' },
  { name: 'an answer in words', reply: 'Mara Quill was born in Velm. She directed Salt Road.', fallback: 'not_json' },
  { name: 'a refusal', reply: "I'm sorry, but I cannot help with that.", fallback: 'not_json' },
  { name: 'a list in words', reply: '- Salt Road: its director\n- the director: birthplace', fallback: 'not_json' },
  { name: 'no JSON but null', reply: 'null', fallback: 'not_json' },
  { name: 'nothing', reply: '', fallback: 'empty_reply' },
  { name: 'white space', reply: ' \n\t ', fallback: 'empty_reply' },
  { name: 'an empty fence', reply: '```json\n```', fallback: 'empty_reply' },
  { name: 'thoughts alone', reply: '<think>Salt Road…</think>', fallback: 'empty_reply' },
  { name: 'thoughts that are cut off', reply: '<think>Salt Road is a film, so', fallback: 'empty_reply' },
  { name: 'thoughts that the prompt began', reply: `The pages are ["Salt Road"].\n</think>\n[${a}, ${b}]`, claims: [A, B] },
  { name: 'a marker alone', reply: '<|im_end|>', fallback: 'empty_reply' },
]; // prettier-ignore
