"""Tokens of a conversation by a model file's own chat template, in which no text can forge a turn."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bineval.types import Message

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
    """Renders messages to tokens and tokens to text for a loaded model."""

    def __init__(self, llama: "Llama") -> None:
        import llama_cpp
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        self._llama = llama
        self._vocab = llama_cpp.llama_model_get_vocab(llama.model)
        self._is_end = llama_cpp.llama_vocab_is_eog
        self._bos = self._special(llama.token_bos())
        self._render = Jinja2ChatFormatter(
            template=llama.metadata.get("tokenizer.chat_template", _CHATML),
            eos_token=self._special(llama.token_eos()),
            bos_token=self._bos,
        )
        self._adds_bos = bool(llama_cpp.llama_vocab_get_add_bos(self._vocab))

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Returns the tokens of the conversation up to where the assistant's reply begins.

        The template is rendered with a slot for each content. Template and contents are tokenized apart, and only the
        template may yield special tokens: a judged text that holds `<|im_end|>` stays text.
        """
        slots: Any = [{"role": m.role, "content": f"\ue000{i}\ue001"} for i, m in enumerate(messages)]
        prompt: str = self._render(messages=slots).prompt
        tokens: list[int] = []
        for i, part in enumerate(_SLOT.split(prompt)):
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
        return bool(self._is_end(self._vocab, token))

    def _special(self, token: int) -> str:
        if token < 0:
            return ""
        data: bytes = self._llama.detokenize([token], special=True)
        return data.decode("utf-8", "replace")
