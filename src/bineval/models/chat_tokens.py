"""Tokens of a conversation by a model file's own chat template, in which no text can forge a turn."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bineval.errors import ConfigError
from bineval.types import Message, Role

if TYPE_CHECKING:
    from llama_cpp import Llama

# Plain ChatML, for files that carry no template of their own.
_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Private-use characters: no template changes them, and contents never meet the template.
_SLOT = re.compile("\ue000(\\d+)\ue001")


class ChatTokenizer:
    """Renders messages to tokens and tokens to text for a loaded model.

    Attributes:
        vocab: The model's vocabulary, as the engine's C interface gives it.

    Raises:
        ConfigError: The file's chat template is malformed.
    """

    def __init__(self, llama: "Llama") -> None:
        import llama_cpp

        self._llama = llama
        self.vocab = llama_cpp.llama_model_get_vocab(llama.model)
        self._is_end = llama_cpp.llama_vocab_is_eog
        self._bos = self._special(llama.token_bos())
        self._template = _Template(
            llama.metadata.get("tokenizer.chat_template", _CHATML),
            bos=self._bos,
            eos=self._special(llama.token_eos()),
            file=llama.model_path,
        )
        self._adds_bos = bool(llama_cpp.llama_vocab_get_add_bos(self.vocab))

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Returns the tokens of the conversation up to where the assistant's reply begins.

        The template is rendered with a slot for each content. Template and contents are tokenized apart, and only the
        template may yield special tokens: a judged text that holds `<|im_end|>` stays text.

        Raises:
            ConfigError: The template cannot render a conversation with these roles.
        """
        tokens: list[int] = []
        for i, part in enumerate(_SLOT.split(self._template.render([message.role for message in messages]))):
            is_content = i % 2 == 1
            text = messages[int(part)].content if is_content else part
            add_bos = i == 0 and self._adds_bos and not part.startswith(self._bos)
            tokens += self._llama.tokenize(text.encode("utf-8", "replace"), add_bos=add_bos, special=not is_content)
        return tokens

    def text(self, tokens: Sequence[int]) -> str:
        """Returns the text of tokens; bytes that are not UTF-8 become U+FFFD."""
        data: bytes = self._llama.detokenize(list(tokens))
        return data.decode("utf-8", "replace")

    def ends_turn(self, token: int) -> bool:
        """Whether the token ends the assistant's turn."""
        return bool(self._is_end(self.vocab, token))

    def _special(self, token: int) -> str:
        if token < 0:
            return ""
        data: bytes = self._llama.detokenize([token], special=True)
        return data.decode("utf-8", "replace")


class _Template:
    """A model file's chat template, rendered with a slot for the content of each message."""

    def __init__(self, text: str, *, bos: str, eos: str, file: str) -> None:
        from jinja2 import TemplateError
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        self._file = file
        # What a template raises that was written for other roles, or for another renderer.
        self._failures = (TemplateError, TypeError, ValueError)
        try:
            self._formatter = Jinja2ChatFormatter(template=text, eos_token=eos, bos_token=bos)
        except TemplateError as error:
            raise ConfigError(f"{file}: its chat template is malformed: {error}") from error

    def render(self, roles: Sequence[Role]) -> str:
        """Returns the conversation; a template that takes no system message gets it inside the next one."""
        turns = [(role, _slot(i)) for i, role in enumerate(roles)]
        problems = []
        for talk in (turns, _without_system(turns)):
            try:
                prompt: str = self._formatter(messages=_as_dicts(talk)).prompt
            except self._failures as error:
                problems.append(str(error))
                continue
            if sorted(map(int, _SLOT.findall(prompt))) == list(range(len(roles))):
                return prompt
            problems.append("it leaves out a message")
        raise ConfigError(f"{self._file}: its chat template cannot render {', '.join(roles)}: {problems[0]}")


def _slot(i: int) -> str:
    return f"\ue000{i}\ue001"


def _as_dicts(turns: Sequence[tuple[Role, str]]) -> Any:  # noqa: ANN401 - the renderer's types are unions of dicts
    return [{"role": role, "content": content} for role, content in turns]


def _without_system(turns: Sequence[tuple[Role, str]]) -> list[tuple[Role, str]]:
    if len(turns) < 2 or turns[0][0] != "system":
        return list(turns)
    (_, rules), (role, content), *rest = turns
    return [(role, f"{rules}\n\n{content}"), *rest]
